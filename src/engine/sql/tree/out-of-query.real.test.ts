/**
 * What the engine runs without a user, every place of a definition by every way to name another table: refused for
 * everybody where the engine could not start without the table, and for users with grants where it asks for no grant.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GuardedEngine } from "../../../../harness/engine/guarded-engine.ts";
import { ClickHouseException } from "../../../clickhouse/exception.ts";

let engine: GuardedEngine;
beforeAll(async () => {
  engine = await GuardedEngine.start();
  for (const sql of [
    "CREATE DATABASE others",
    "CREATE TABLE others.j (a String, b String) ENGINE = Join(ANY, LEFT, a)",
    "CREATE TABLE others.s (a String) ENGINE = Set",
    "CREATE FUNCTION hidden_join AS (x) -> joinGet('others.j', 'b', x)",
    "CREATE FUNCTION hidden_twice AS (x) -> hidden_join(x)",
    "CREATE FUNCTION hidden_query AS (x) -> x IN (SELECT a FROM others.t)",
    "CREATE FUNCTION harmless AS (x) -> upper(x)",
  ]) {
    await engine.bare.client.command(sql);
  }
});
afterAll(async () => await engine[Symbol.asyncDispose]());

const judged = async (sql: string, restricted: boolean) =>
  await engine.guard.judge({
    ...{ text: Buffer.from(sql), complete: true, params: [], settings: [], readonly: false, get: false },
    restricted,
  });

/** `@` is the expression. */
const definitions = [
  "CREATE TABLE x (a String, d DateTime) ENGINE = MergeTree ORDER BY a TTL d + INTERVAL 1 DAY DELETE WHERE @",
  "CREATE TABLE x (a String, d DateTime) ENGINE = MergeTree ORDER BY a TTL d + toIntervalDay(@)",
  "CREATE TABLE x (a String, d DateTime, b String TTL d + toIntervalDay(@)) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, d DateTime) ENGINE = MergeTree ORDER BY a TTL d GROUP BY a SET b = max(@)",
  "CREATE TABLE x (a String) ENGINE = MergeTree ORDER BY a PARTITION BY (@)",
  "CREATE TABLE x (a String) ENGINE = MergeTree ORDER BY (a, @)",
  "CREATE TABLE x (a String) ENGINE = MergeTree PRIMARY KEY (@) ORDER BY (@)",
  "CREATE TABLE x (a String) ENGINE = MergeTree ORDER BY a SAMPLE BY @",
  "CREATE TABLE x (a String, b String DEFAULT @) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, b String MATERIALIZED @) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, b String ALIAS @) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, INDEX i @ TYPE minmax) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, CONSTRAINT c CHECK @) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x (a String, PROJECTION p (SELECT @ ORDER BY a)) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE x ENGINE = MergeTree ORDER BY (@) AS SELECT 1 AS a",
  "CREATE MATERIALIZED VIEW x ENGINE = MergeTree PARTITION BY (@) ORDER BY a AS SELECT 1 AS a",
  "CREATE INDEX i ON x (@) TYPE minmax",
  "ALTER TABLE x MODIFY TTL d + INTERVAL 1 DAY DELETE WHERE @",
  "ALTER TABLE x ADD COLUMN b String DEFAULT @",
  "ALTER TABLE x MODIFY COLUMN b String MATERIALIZED @",
  "ALTER TABLE x ADD INDEX i @ TYPE minmax",
  "ALTER TABLE x ADD CONSTRAINT c CHECK @",
  "ALTER TABLE x ADD PROJECTION p (SELECT @ ORDER BY a)",
  "ALTER TABLE x MODIFY ORDER BY (a, @)",
];
const changes = [
  "ALTER TABLE x UPDATE b = @ WHERE 1",
  "ALTER TABLE x UPDATE b = '' WHERE @",
  "ALTER TABLE x DELETE WHERE @",
  "DELETE FROM x WHERE @",
  "UPDATE x SET b = @ WHERE 1",
];
/** They read a table that the engine must have when it starts. */
const tables = [
  "a IN (SELECT a FROM others.t)",
  "a NOT IN (SELECT a FROM others.t)",
  "a IN others.s",
  "a GLOBAL IN others.s",
  "in(a, others.s)",
  "nullIn(a, others.s)",
  "globalNotNullInIgnoreSet(a, others.s)",
  "(SELECT max(a) FROM others.t)",
  "exists(SELECT 1 FROM others.t)",
  "hidden_query(a)",
];
/** The engine asks for no grant. */
const functions = [
  "joinGet('others.j', 'b', a)",
  "joinGetOrNull('others.j', 'b', a)",
  "dictGet('others.d', 'b', a)",
  "dictGetOrDefault('others.d', 'b', tuple(a), '?')",
  "dictHas('others.d', a)",
  "hasColumnInTable('others', 't', 'c')",
  "hidden_join(a)",
  "hidden_twice(a)",
];

const refusal = expect.objectContaining({ codeName: "ACCESS_DENIED" });
const written = (place: string, expression: string) => place.replaceAll("@", expression);

describe.each(definitions)("%s", (place) => {
  test("holds no query and no table, for nobody", async () => {
    for (const expression of tables) {
      await expect(judged(written(place, expression), false), expression).rejects.toEqual(refusal);
    }
  });
});

describe.each([...definitions, ...changes])("%s", (place) => {
  test("reads nothing else for users with grants", async () => {
    for (const expression of functions) {
      const sql = written(place, expression);
      await expect(judged(sql, true), expression).rejects.toThrow("in queries only");
      await expect(judged(sql, false), expression).resolves.toBeDefined();
    }
  });
  test("may compute", async () => {
    for (const expression of ["upper(a)", "harmless(a)", "a IN ('x', 'y')", "a IN (1, 2)"]) {
      await expect(judged(written(place, expression), true), expression).resolves.toBeDefined();
    }
  });
});

test("a query of a change, a view or a new table is checked by the engine", async () => {
  for (const sql of [
    "ALTER TABLE x DELETE WHERE a IN (SELECT a FROM u)",
    "CREATE VIEW v AS SELECT dictGet('d', 'b', a) FROM t WHERE a IN (SELECT 1)",
    "CREATE MATERIALIZED VIEW v ENGINE = MergeTree ORDER BY a AS SELECT joinGet('j', 'b', a) AS a FROM t",
    "CREATE TABLE x ENGINE = MergeTree ORDER BY a AS SELECT dictGet('d', 'b', a) AS a FROM t WHERE a IN u",
    "ALTER TABLE v MODIFY QUERY SELECT dictGet('d', 'b', a) AS a FROM t",
    "INSERT INTO x SELECT dictGet('d', 'b', a) FROM t",
    "SELECT joinGet('j', 'b', a) FROM t",
  ]) {
    expect((await judged(sql, true)).kind, sql).toMatch(/^[a-z]+$/);
  }
});

test("users with grants see no columns of other tables by a function", async () => {
  for (const sql of ["DESCRIBE TABLE mergeTreeIndex('others', 't')", "DESCRIBE TABLE dictionary('others.d')"]) {
    await expect(judged(sql, true), sql).rejects.toEqual(refusal);
    expect((await judged(sql, false)).kind).toBe("read");
  }
  expect((await judged("DESCRIBE TABLE t", true)).kind).toBe("read");
});

/** The engine asks for no grant on a table of the engine Set, also in a query. */
test("users with grants ask no set of others", async () => {
  for (const sql of [
    "SELECT 'x' IN others.s",
    "SELECT 'x' IN s",
    "SELECT 'x' in (`s`)",
    "SELECT 'x' GLOBAL NOT IN others.s",
    "SELECT nullIn('x', others.s), count() FROM t",
    "SELECT notIn(a, s) FROM t",
    "SELECT IN(a, s) FROM t",
    "SELECT 'x' IN (s, 'y') OR 'x' IN (`s`) FROM t",
    "SELECT * APPLY (x -> x IN (s)) FROM t",
    "WITH 1 AS s SELECT 'x' IN others.s",
    "SELECT * APPLY (x -> x IN s) FROM t",
    "SELECT arrayExists(x -> x IN (others.s), ['x'])",
    "SELECT 'x' IN {s:Identifier}",
    "SELECT 'x' IN {d:Identifier}.{s:Identifier}",
    "CREATE VIEW v AS SELECT 'x' IN others.s",
    "INSERT INTO x SELECT 'x' IN others.s",
    "SELECT 1 FROM t SETTINGS additional_table_filters = {'t': 'a IN others.s'}",
  ]) {
    const params = [
      ["s", "s"],
      ["d", "others"],
    ] as const;
    const asked = { text: Buffer.from(sql), complete: true, params, settings: [], readonly: false, get: false };
    await expect(engine.guard.judge({ ...asked, restricted: true }), sql).rejects.toThrow("of the engine Set");
    expect(await engine.guard.judge(asked), sql).toBeDefined();
  }
  const settings = [["additional_result_filter", "'x' IN others.s"]] as const;
  const asked = { text: Buffer.from("SELECT 1"), complete: true, params: [], settings, readonly: false, get: false };
  await expect(engine.guard.judge({ ...asked, restricted: true })).rejects.toThrow("of the engine Set");
  for (const sql of [
    "SELECT 1 IN (1, 2)",
    // Columns that have the name of a table.
    "SELECT 'x' IN (s, 'y') FROM t",
    "SELECT a FROM t WHERE a NOT IN (s, a) AND a IN tuple(s)",
    "SELECT a FROM t WHERE a IN [s]",
    "SELECT a IN t FROM t",
    "SELECT a IN (SELECT s FROM t)",
    "SELECT s FROM t",
  ]) {
    expect((await judged(sql, true)).kind, sql).toBe("read");
  }
  expect((await judged("INSERT INTO x SELECT a FROM t WHERE a IN (s, a)", true)).kind).toBe("insert");
});

test("users with grants hide none of it in a function", async () => {
  await expect(judged("CREATE FUNCTION f AS (x) -> dictGet('d', 'b', x)", true)).rejects.toBeInstanceOf(
    ClickHouseException,
  );
  expect((await judged("CREATE FUNCTION f AS (x) -> dictGet('d', 'b', x)", false)).kind).toBe("define");
});
