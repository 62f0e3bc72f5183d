/** A rewrite (`VACUUM FULL`, a computed default) fills columns of rows without a word in the log. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { untilDegraded, untilState } from "../../../harness/pipes.ts";
import { untilTableEqual } from "../../../harness/postgres/compare.ts";
import { cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, runningService, type Served, serve } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("tables that a Postgres source rewrites", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;
  beforeAll(async () => {
    [served, source] = await Promise.all([serve(), TestPostgres.start()]);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const command = async (pipeId: string, word: "resync" | "stop" | "start", more: object = {}) =>
    await served.api.updatePipeState({ params: { ...service.params, pipeId }, body: { command: word, ...more } });
  const make = (table: string, rows: number) =>
    source.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, a text);
      INSERT INTO ${table} SELECT i, 'a' || i FROM generate_series(1, ${rows}) i`);

  test.each([
    ["that are computed for each row", "drawn", "ADD COLUMN b double precision DEFAULT random()", ""],
    ["that a rewrite wrote into the rows", "filled", "ADD COLUMN b int DEFAULT 5", "VACUUM FULL filled"],
  ])(
    "a column added with values %s stops the table, and a resync makes it equal",
    async (_, table, change, rewrite) => {
      await make(table, 50);
      const id = await cdcPipe(served, service, source, [table]);
      await untilState(served, service, id, "Running");
      await command(id, "stop");
      await untilState(served, service, id, "Stopped");
      await source.sql(`ALTER TABLE ${table} ${change}`);
      if (rewrite !== "") await source.sql(rewrite);
      await source.sql(`INSERT INTO ${table} VALUES (51, 'new')`);
      await command(id, "start");
      await untilDegraded(
        served,
        service,
        id,
        new RegExp(`public\\.${table} are left out: .*values that the log does not`),
      );
      await command(id, "resync", { tables: [`public.${table}`] });
      await untilTableEqual(source, service, table);
    },
  );

  test("a default that a column gets afterwards does not stop the table", async () => {
    await make("later", 50);
    await cdcPipe(served, service, source, ["later"]);
    await untilTableEqual(source, service, "later");
    await source.sql(`ALTER TABLE later ADD COLUMN b int; ALTER TABLE later ALTER COLUMN b SET DEFAULT 5;
      INSERT INTO later VALUES (51, 'new')`);
    await untilTableEqual(source, service, "later");
  });
});
