/** Postgres pipes against real servers: the destination equals the source. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { details, untilState } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

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

  test("values that the source does not send because they did not change are kept", async () => {
    await source.sql(`CREATE TABLE papers (id int, part text, title text, body text, PRIMARY KEY (id, part));
      ALTER TABLE papers ALTER body SET STORAGE EXTERNAL;
      INSERT INTO papers SELECT i, 'a', 'first', repeat('body ' || i || ' ', 1000) FROM generate_series(1, 200) i`);
    await cdcPipe(served, service, source, ["papers"]);
    const columns = {
      source: "id::text, part, title, md5(body)",
      destination: "toString(id), part, title, lower(hex(MD5(body)))",
    };
    await untilEqual(source, service, "papers", columns);
    // One transaction, so that all of it is in one batch: several updates of a row, new keys, and new rows.
    await source.sql(`BEGIN; UPDATE papers SET title = 'second' WHERE id <= 150;
      UPDATE papers SET title = 'third' WHERE id <= 100;
      UPDATE papers SET body = repeat('other ' || id || ' ', 1000) WHERE id <= 50;
      UPDATE papers SET title = 'fourth' WHERE id <= 60;
      UPDATE papers SET part = 'b' WHERE id <= 40;
      UPDATE papers SET title = 'fifth' WHERE id <= 30;
      DELETE FROM papers WHERE id <= 10;
      INSERT INTO papers SELECT i, 'a', 'new', repeat('new ' || i || ' ', 1000) FROM generate_series(1, 5) i;
      INSERT INTO papers SELECT i, 'b', 'new', repeat('new ' || i || ' ', 1000) FROM generate_series(301, 305) i;
      UPDATE papers SET title = 'sixth' WHERE id > 300 OR id < 4;
      COMMIT`);
    await untilEqual(source, service, "papers", columns);
  });

  test("without a key, under REPLICA IDENTITY FULL, and through the root of partitions", async () => {
    await source.sql(`CREATE TABLE loose (a int, b text); ALTER TABLE loose REPLICA IDENTITY FULL;
      INSERT INTO loose SELECT i, NULL FROM generate_series(1, 100) i;
      CREATE TABLE sales (id int, day date, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
      CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
      CREATE TABLE sales_2 PARTITION OF sales FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
      INSERT INTO sales SELECT i, '2026-01-01'::date + i % 50, 'n' || i FROM generate_series(1, 1000) i`);
    const pipeId = await cdcPipe(served, service, source, ["loose", "sales"]);
    await untilState(served, service, pipeId, "Running");
    const loose = { source: "a::text, coalesce(b, 'NULL')", destination: "toString(a), ifNull(b, 'NULL')" };
    const sales = { source: "id::text, day::text, note", destination: "toString(id), toString(day), note" };
    await untilEqual(source, service, "loose", loose);
    await untilEqual(source, service, "sales", sales);
    await source.sql(`UPDATE loose SET b = 'x' || a WHERE a % 3 = 0; DELETE FROM loose WHERE a % 5 = 0;
      UPDATE sales SET day = day + 10 WHERE id % 4 = 0 AND day < '2026-02-10'; DELETE FROM sales WHERE id % 9 = 0;
      INSERT INTO sales SELECT i, '2026-02-03', 'late' FROM generate_series(2001, 2100) i`);
    await untilEqual(source, service, "loose", loose);
    await untilEqual(source, service, "sales", sales);
  });

  test("columns that are added, dropped, renamed and widened are followed, in the middle of everything", async () => {
    await source.sql(`CREATE TABLE shapes (id int PRIMARY KEY, a int NOT NULL, b text, c numeric(10,2));
      INSERT INTO shapes SELECT i, i, 'b' || i, i FROM generate_series(1, 100) i`);
    const pipeId = await cdcPipe(served, service, source, ["shapes"]);
    await untilEqual(source, service, "shapes", { source: "id::text", destination: "toString(id)" });
    await untilState(served, service, pipeId, "Running");
    await source.sql(`INSERT INTO shapes SELECT i, i, 'b' || i, i FROM generate_series(101, 200) i;
      ALTER TABLE shapes ADD COLUMN d text NOT NULL DEFAULT 'it''s \\ new', ADD COLUMN e int[];
      INSERT INTO shapes SELECT i, i, 'b' || i, i, 'd' || i, ARRAY[i] FROM generate_series(201, 300) i;`);
    await untilEqual(source, service, "shapes", {
      source: "id::text, a::text, b, d, coalesce(array_to_string(e, '-'), '')",
      destination: "toString(id), toString(a), b, d, arrayStringConcat(arrayMap(x -> toString(x), e), '-')",
    });
    await source.sql(`BEGIN; INSERT INTO shapes (id, a, b) VALUES (299000, 1, 'before');
      ALTER TABLE shapes RENAME COLUMN b TO bb;
      UPDATE shapes SET bb = 'renamed' WHERE id % 10 = 0;
      ALTER TABLE shapes ALTER a TYPE bigint, ALTER c TYPE numeric(12,3);
      INSERT INTO shapes SELECT i, 3000000000 + i, NULL, i + 0.125, 'd', '{}' FROM generate_series(301, 400) i;
      ALTER TABLE shapes ALTER a DROP NOT NULL;
      INSERT INTO shapes (id) VALUES (401); COMMIT`);
    await untilEqual(source, service, "shapes", {
      source: "id::text, coalesce(a::text, 'null'), coalesce(bb, 'null'), coalesce(trunc(c, 3)::text, 'null'), d",
      destination: `toString(id), ifNull(toString(a), 'null'), ifNull(bb, 'null'),
        ifNull(toString(toDecimalString(c, 3)), 'null'), d`,
    });
    await source.sql(`ALTER TABLE shapes DROP COLUMN bb; INSERT INTO shapes (id, a) VALUES (402, 1)`);
    await source.sql(`ALTER TABLE shapes ALTER d DROP DEFAULT, ALTER d TYPE int USING length(d)`);
    await source.sql("INSERT INTO shapes (id, a, d) VALUES (404, 1, 2)");
    await until("the table is stopped", async () => (await details(served, service, pipeId)).state === "Degraded");
    expect((await details(served, service, pipeId)).lastError).toContain("public.shapes");
    await served.api.updatePipeState({ params: { ...service.params, pipeId }, body: { command: "resync" } });
    await untilState(served, service, pipeId, "Running");
    await untilEqual(source, service, "shapes", {
      source: "id::text, coalesce(a::text, 'null'), d::text",
      destination: "toString(id), ifNull(toString(a), 'null'), toString(d)",
    });
  });
});
