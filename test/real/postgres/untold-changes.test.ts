/**
 * What the log does not tell: names that change, tables that are not published any more, and rewrites (`VACUUM FULL`, a
 * computed default), which fill columns of rows. The table stops, or the pipe says so.
 */
import { afterAll, beforeAll, describe, test } from "vitest";
import { untilDegraded, untilState } from "../../../harness/pipes.ts";
import { untilTableEqual } from "../../../harness/postgres/compare.ts";
import { cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, runningService, type Served, serve } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("changes at a Postgres source that its log does not tell", () => {
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

  /** A pipe that follows a table of 50 rows of its own. */
  async function followed(table: string): Promise<string> {
    await source.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, a text, b text);
      INSERT INTO ${table} SELECT i, 'a' || i, 'b' || i FROM generate_series(1, 50) i`);
    const id = await cdcPipe(served, service, source, [table]);
    await untilTableEqual(source, service, table);
    await untilState(served, service, id, "Running");
    return id;
  }

  test.each([
    [
      "away and back",
      "moved",
      "ALTER TABLE moved RENAME TO x; INSERT INTO x VALUES (51); ALTER TABLE x RENAME TO moved",
    ],
    [
      "of two columns",
      "swapped",
      "ALTER TABLE swapped RENAME a TO t; ALTER TABLE swapped RENAME b TO a; ALTER TABLE swapped RENAME t TO b",
    ],
  ])("a rename %s stops the table, and a resync makes it equal", async (_, table, sql) => {
    const id = await followed(table);
    await source.sql(`${sql}; INSERT INTO ${table} VALUES (52, 'a', 'b')`);
    await untilDegraded(served, service, id, new RegExp(`public\\.${table} are left out: .*(renamed|name of another)`));
    await command(id, "resync", { tables: [`public.${table}`] });
    await untilTableEqual(source, service, table);
  });

  test("a table that is dropped, or taken out of the publication, is told while the pipe runs", async () => {
    const [dropped, unpublished] = await Promise.all([followed("dropped"), followed("unpublished")]);
    const publication = `millrace_${unpublished.replaceAll("-", "_")}`;
    await source.sql(`DROP TABLE dropped; ALTER PUBLICATION "${publication}" DROP TABLE unpublished;
      INSERT INTO unpublished VALUES (51)`);
    await untilDegraded(served, service, dropped, /public\.dropped are left out: .* does not have it any more/);
    const stopped = /public\.unpublished are left out: .* does not have it any more/;
    await untilDegraded(served, service, unpublished, stopped);
    // Nothing makes up for what was not sent meanwhile.
    await source.sql(`ALTER PUBLICATION "${publication}" ADD TABLE unpublished; INSERT INTO unpublished VALUES (52)`);
    await command(unpublished, "stop");
    await untilState(served, service, unpublished, "Stopped");
    await command(unpublished, "start");
    await untilDegraded(served, service, unpublished, stopped);
    await command(unpublished, "resync", { tables: ["public.unpublished"] });
    await untilTableEqual(source, service, "unpublished");
    await untilState(served, service, unpublished, "Running");
  });

  test.each([
    ["kinds", "SET (publish = 'insert, update')", "does not publish DELETE, TRUNCATE any more"],
    ["filtered", "SET TABLE filtered WHERE (id < 51)", "leaves out rows \\(WHERE \\(id < 51\\)\\)"],
    // Without the column that the table has not either.
    ["hidden", "SET TABLE hidden (id)", "leaves out the column a"],
  ])("a publication with less of a table than before stops it, until a resync (%s)", async (table, change, reason) => {
    const id = await followed(table);
    const publication = `ALTER PUBLICATION "millrace_${id.replaceAll("-", "_")}"`;
    await source.sql(`ALTER TABLE ${table} DROP COLUMN b; ${publication} ${change};
      INSERT INTO ${table} VALUES (51, 'a'); DELETE FROM ${table} WHERE id = 1`);
    const stopped = new RegExp(`public\\.${table} are left out: the publication .*${reason}\\.`);
    await untilDegraded(served, service, id, stopped);
    const whole = table === "kinds" ? "SET (publish = 'insert, update, delete, truncate')" : `SET TABLE ${table}`;
    await source.sql(`${publication} ${whole}`);
    // Nothing makes up for what was left out meanwhile, also after a restart.
    await command(id, "stop");
    await untilState(served, service, id, "Stopped");
    await command(id, "start");
    await untilDegraded(served, service, id, stopped);
    await command(id, "resync", { tables: [`public.${table}`] });
    await untilTableEqual(source, service, table);
    await untilState(served, service, id, "Running");
  });

  test("a table that was made again while the pipe did not run is not taken for the one that was copied", async () => {
    const id = await followed("made");
    await command(id, "stop");
    await untilState(served, service, id, "Stopped");
    await source.sql(
      "DROP TABLE made; CREATE TABLE made (id int PRIMARY KEY, a text, b text); INSERT INTO made VALUES (1)",
    );
    await command(id, "start");
    await untilDegraded(served, service, id, /public\.made are left out: it was dropped and made again/);
    await command(id, "resync");
    await untilTableEqual(source, service, "made");
  });

  test.each([
    ["that are computed for each row", "drawn", "ADD COLUMN c double precision DEFAULT random()", ""],
    ["that a rewrite wrote into the rows", "filled", "ADD COLUMN c int DEFAULT 5", "VACUUM FULL filled"],
  ])(
    "a column added with values %s stops the table, and a resync makes it equal",
    async (_, table, change, rewrite) => {
      const id = await followed(table);
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
    await followed("later");
    await source.sql(`ALTER TABLE later ADD COLUMN c int; ALTER TABLE later ALTER COLUMN c SET DEFAULT 5;
      INSERT INTO later (id, a) VALUES (51, 'new')`);
    await untilTableEqual(source, service, "later");
  });
});
