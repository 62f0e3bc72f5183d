/** Postgres pipes against real servers: what is at the source is at the destination. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { details, untilState } from "../support/pipes.ts";
import { postgresMissing, TestPostgres } from "../support/postgres.ts";
import { cdcPipe, untilEqual } from "../support/postgres-pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../support/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`Postgres pipes: skipped, ${missing}`);

describe.skipIf(missing !== undefined)("Postgres pipes", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([serve(), TestPostgres.start()]);
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const plain = { source: "id::text, name", destination: "toString(id), name" };

  test("a table is copied and then followed", async () => {
    await source.sql(`CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL);
      INSERT INTO people SELECT i, 'name ' || i FROM generate_series(1, 5000) i`);
    const pipeId = await cdcPipe(served, service, source, ["people"], {
      settings: { snapshotNumRowsPerPartition: 1000 },
    });
    await untilState(served, service, pipeId, "Running");
    await untilEqual(source, service, "people", plain);
    await source.sql(`INSERT INTO people SELECT i, 'late ' || i FROM generate_series(5001, 6000) i;
      UPDATE people SET name = 'changed\\tn' || id WHERE id % 7 = 0;
      DELETE FROM people WHERE id % 11 = 0;
      UPDATE people SET id = -id WHERE id % 13 = 0`);
    await untilEqual(source, service, "people", plain);
    expect((await details(served, service, pipeId)).lastError).toBeUndefined();
    await source.sql("TRUNCATE people; INSERT INTO people VALUES (1, 'only')");
    await untilEqual(source, service, "people", plain);
    expect(await query(service, "SELECT count() FROM people_current")).toBe("1");
  });
});
