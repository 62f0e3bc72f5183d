/** How Postgres pipes begin: behind transactions that are open, and without a slot that the user made. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { details, untilDegraded, untilState } from "../../../harness/pipes.ts";
import { cdcBody, cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`Beginnings of Postgres pipes: skipped, ${missing}`);

describe.skipIf(missing !== undefined)("the beginning of Postgres pipes", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([
      serve(),
      TestPostgres.start({ settings: { max_prepared_transactions: "4" } }),
    ]);
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const plain = { source: "id::text, name", destination: "toString(id), name" };
  const make = async (table: string, rows: number) => {
    await source.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, name text NOT NULL);
      INSERT INTO ${table} SELECT i, 'name ' || i FROM generate_series(1, ${rows}) i`);
  };

  test("the answer of create lists per table what its destination does not hold", async () => {
    await source.sql(`CREATE TABLE lossy (id int PRIMARY KEY, day date, at timestamptz NOT NULL, price money,
      amount numeric(10, 2), any_amount numeric, note text, twice int GENERATED ALWAYS AS (id * 2) STORED);
      CREATE TABLE exact (id int PRIMARY KEY, name text NOT NULL)`);
    const body = cdcBody(source, ["lossy", "exact"], { settings: { allowNullableColumns: false } });
    const { id: pipeId, warnings } = await served.api.createPipe({ params: service.params, body });
    expect(warnings).toEqual([
      {
        path: "source.relationalDb.tableMappings.0",
        message:
          '"public"."lossy": generated columns are left out (twice); ' +
          "dates outside of 1900 to 2299, BC and infinity become the nearest of these days (day); " +
          "times BC, after the year 9999 and infinity become the nearest that fit (at); " +
          "NaN is stored as NULL (amount); stored as the text that Postgres prints (price, any_amount); " +
          "NULL becomes the zero value of the type (day, price, amount, any_amount, note)",
      },
    ]);
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
  });

  test("a copy that waits for open transactions names them, without their data, and goes on after them", async () => {
    await make("waited", 100);
    await using writer = await source.client({ application_name: "nightly-job" });
    await writer.query("BEGIN");
    await writer.query("UPDATE waited SET name = 'very-secret' WHERE id = 1");
    const { rows } = await writer.query("SELECT pg_backend_pid() AS pid");
    await using other = await source.client({});
    await other.query("BEGIN; INSERT INTO waited VALUES (101, 'prepared'); PREPARE TRANSACTION 'two-phase'");
    const pipeId = await cdcPipe(served, service, source, ["waited"]);
    const named = `pid ${rows[0].pid} of user postgres \\(nightly-job, idle in transaction\\), open for \\d+ s`;
    const prepared = 'prepared transaction "two-phase", open for \\d+ s';
    await untilDegraded(served, service, pipeId, new RegExp(`open before: ${named}; ${prepared}\\.$`));
    expect((await details(served, service, pipeId)).lastError).not.toContain("very-secret");
    await writer.query("COMMIT");
    await other.query("COMMIT PREPARED 'two-phase'");
    await untilState(served, service, pipeId, "Running");
    await untilEqual(source, service, "waited", plain);
    expect((await details(served, service, pipeId)).lastError).toBeUndefined();
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
  });

  test("a pipe that follows only makes its own slot, begins at it, and takes it away", async () => {
    await make("followed", 500);
    const settings = { replicationMode: "cdc_only" };
    const pipeId = await cdcPipe(served, service, source, ["followed"], { settings });
    await untilState(served, service, pipeId, "Running");
    const ids = async () =>
      await query(service, "SELECT arraySort(groupArray(id)) FROM followed_current").catch(() => "");
    await source.sql("INSERT INTO followed VALUES (501, 'new')");
    await until("the new row is there", async () => (await ids()) === "[501]");
    const command = async (name: "start" | "stop" | "resync") =>
      await served.api.updatePipeState({ params: { ...service.params, pipeId }, body: { command: name } });
    await command("stop");
    await untilState(served, service, pipeId, "Stopped");
    await source.sql("INSERT INTO followed VALUES (502, 'while it was stopped')");
    await command("start");
    await until("what came meanwhile is there", async () => (await ids()) === "[501,502]");
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    const slots = async () => (await source.sql("SELECT 1 FROM pg_replication_slots")).length;
    await until("the slot is gone", async () => (await slots()) === 0);
  });
});
