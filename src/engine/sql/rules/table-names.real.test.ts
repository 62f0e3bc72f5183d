/**
 * The engine is built from a local tool: an unknown name of a table is the path of a file for it. `@` is a file that
 * exists, `?` one that does not. No statement reads the one or tells it from the other.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Asking, GuardedEngine } from "../../../../harness/engine/guarded-engine.ts";
import { ClickHouseException } from "../../../clickhouse/exception.ts";

let engine: GuardedEngine;
let existing: string;
let missing: string;

beforeAll(async () => {
  engine = await GuardedEngine.start();
  const folder = join(engine.bare.dir, "other");
  mkdirSync(folder);
  existing = join(folder, "secret.csv");
  missing = join(folder, "absent.csv");
  writeFileSync(existing, '"topsecret"\n');
  await engine.run("CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a");
  await engine.run("CREATE TABLE j (k UInt64, v String) ENGINE = Join(ANY, LEFT, k)");
  await engine.run("INSERT INTO j VALUES (1, 'joined')");
  const source = "SOURCE(CLICKHOUSE(QUERY 'SELECT 1 AS k, ''found'' AS v'))";
  await engine.run(`CREATE DICTIONARY d (k UInt64, v String) PRIMARY KEY k ${source} LAYOUT(FLAT()) LIFETIME(0)`);
});
afterAll(async () => await engine[Symbol.asyncDispose]());

/** The guard's refusal, without the path. */
async function refusal(statement: string, path: string, { params = {}, ...asking }: Asking = {}): Promise<string> {
  const fill = (text: string) => text.replaceAll("@", path);
  const filled = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, fill(value)]));
  const error = await engine.run(fill(statement), { params: filled, ...asking }).then(
    (answer) => new Error(`answered ${answer}`),
    (reason: Error) => reason,
  );
  expect(error, `${statement}: ${error.message}`).toBeInstanceOf(ClickHouseException);
  return error.message.replaceAll(path, "@");
}

async function refused(statement: string, asking: Asking = {}): Promise<void> {
  expect(await refusal(statement, existing, asking)).toBe(await refusal(statement, missing, asking));
}

const buffer = (table: string) => `CREATE TABLE b (c1 String) ENGINE = Buffer(${table}, 1, 0, 0, 0, 0, 0, 0)`;

describe("no name of a table reaches a file", () => {
  test.each([
    buffer("'default', '@'"),
    buffer("default, `@`"),
    buffer("'default', concat('@', '')"),
    buffer("'default', '../../../../../../../../../../..@'"),
    buffer("'default', '{..,x}/{..,x}/other/secret.csv'"),
    "SELECT dictHas('@', 1)",
    "SELECT dictHas('default.@', 1)",
    "SELECT dictGet(concat('@', ''), 'a', 1)",
    "SELECT dictGet((SELECT '@'), 'a', 1)",
    "WITH '@' AS p SELECT dictHas(p, 1)",
    "SELECT dictHas(a, 1) FROM (SELECT '@' AS a)",
    "SELECT dictHas(x.a, 1) FROM (SELECT '@' AS a) AS x",
    "CREATE FUNCTION has AS (n) -> dictHas(n, 1)",
    "CREATE VIEW v AS SELECT dictHas({n:String}, 1)",
    "SELECT dictGet(a, 'c1', 1) FROM (SELECT '@' AS a)",
    "WITH '@' AS p SELECT dictGet(p, 'c1', 1)",
    "WITH CAST(tuple('@'), 'Tuple(x String)') AS p SELECT dictGet(p.x, 'c1', 1)",
    "SELECT arrayMap(p -> dictGet(p, 'c1', 1), ['@'])",
    "SELECT dictGet(`@`, 'c1', 1)",
    "SELECT '@' AS p SETTINGS additional_result_filter = 'dictGet(p, \\'c1\\', 1) != \\'\\''",
    "SELECT 1 FROM t SETTINGS additional_table_filters = {'t': 'dictGet(a, \\'c1\\', 1) != \\'@\\''}",
    "CREATE FUNCTION named AS (i) -> tuple(dictGet(p, 'c1', i), '@')",
    "SELECT * FROM dictionary('@')",
    "SELECT * FROM dictionary(concat('@', ''))",
    "CREATE TABLE b ENGINE = Dictionary('@')",
    "CREATE TABLE b ENGINE = Alias(default, `@`)",
    "CREATE TABLE b ENGINE = Alias('default', '@')",
    "CREATE DICTIONARY b (a String) PRIMARY KEY a SOURCE(CLICKHOUSE(DB 'default' TABLE '@')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "CREATE DICTIONARY b (a String) PRIMARY KEY a SOURCE(CLICKHOUSE(QUERY 'SELECT a FROM `@`')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "SELECT joinGet('@', 'a', 1)",
    "WITH CAST(tuple('@'), 'Tuple(x String)') AS p SELECT joinGet(p.x, 'a', 1)",
    "SELECT hasColumnInTable('default', '@', 'a')",
    "SELECT * FROM loop('default', '@')",
    "SELECT * FROM loop(default, `@`)",
    "SELECT * FROM mergeTreeIndex('default', '@')",
    "SELECT * FROM timeSeriesData('default', '@')",
    "EXISTS TABLE `@`",
    "EXISTS TABLE `../../../../../../../../../../../@`",
    "EXISTS DICTIONARY `@`",
    "SHOW CREATE TABLE `@`",
    "DESCRIBE TABLE `@`",
    "CHECK TABLE `@`",
    "SELECT * FROM `@`",
    "SELECT * FROM '@'",
    "SELECT * FROM '\\x2f..@'",
    "SELECT * FROM t, '@'",
    'SELECT * FROM "@"',
    "SELECT * FROM default.`@`",
    "SELECT 1 IN `@`",
    "SELECT 1 AS `@` FROM system.one, `@`",
    "SELECT * FROM view(SELECT * FROM `@`)",
    "SELECT `@`.* FROM t",
    "SELECT a FROM t ORDER BY a IN `@`",
    "SELECT a FROM t ORDER BY (1 IN (SELECT 1 FROM `@`)), a",
    "SELECT a FROM t GROUP BY a UNION ALL SELECT * FROM t, `@`",
    "SELECT * FROM t AS BY, `@`",
    "SELECT * FROM t AS SELECT, `@`",
    "SELECT in(1, `@`)",
    "SELECT toString(a, 1 IN `@`) FROM t",
    "INSERT INTO `@` VALUES (1)",
    "INSERT INTO `@` SELECT 1",
    "INSERT INTO t SELECT * FROM `@`",
    "CREATE TABLE b AS `@`",
    "CREATE MATERIALIZED VIEW b TO `@` AS SELECT a FROM t",
    "ALTER TABLE t ATTACH PARTITION tuple() FROM `@`",
    "DROP TABLE IF EXISTS `@`",
    "RENAME TABLE `@` TO b",
    "EXPLAIN SELECT * FROM `@`",
    "SET param_n = '@'",
  ])("%s", async (statement) => await refused(statement));

  test("nor does a parameter", async () => {
    for (const statement of [
      "SELECT * FROM {n:Identifier}",
      "SELECT dictHas({n:String}, 1)",
      "EXISTS TABLE {n:Identifier}",
    ]) {
      await refused(statement, { params: { n: "@" } });
      await refused(statement, { params: { n: "\\x2f..@" } });
    }
  });

  test("nor an expression in VALUES, which is not evaluated then", async () => {
    for (const expression of ["toString(dictHas('@', 1))", "toString(1 IN `@`)"]) {
      const insert = engine.run(`INSERT INTO t VALUES (${expression.replace("@", existing)})`);
      await expect(insert).rejects.toThrow(/expressions is disabled/);
    }
  });

  test("nor a column with a constant, in place of a dictionary", async () => {
    await engine.run(`CREATE TABLE aliased (z UInt8, p String ALIAS '${existing}') ENGINE = MergeTree ORDER BY z`);
    await engine.run("INSERT INTO aliased VALUES (1)");
    await engine.run(`CREATE VIEW viewed AS SELECT '${existing}' AS p`);
    const functions = ["dictGet(p, 'c1', 1)", "dictGetOrDefault(p, 'c1', 1, '')", "dictGetOrNull(p, 'c1', 1)"];
    for (const call of functions) {
      for (const from of ["aliased", "viewed", "(SELECT * FROM viewed)", "viewed SETTINGS analyzer_inline_views = 1"]) {
        const query = engine.run(`SELECT ${call} FROM ${from}`);
        await expect(query, `${call} FROM ${from}`).rejects.toThrow(
          /expected a const string|Dictionary \(`p`\) not found/,
        );
      }
    }
    for (const call of ["dictGetString(p, 'c1', 1)", "dictHas(p, 1)", "dictGetHierarchy(p, 1)", "dictIsIn(p, 1, 1)"]) {
      await expect(engine.run(`SELECT ${call} FROM aliased`), call).rejects.toThrow(/in quotes/);
    }
  });

  test("a name without a path finds no file of the folder that the program was started in", async () => {
    expect(await engine.run("EXISTS TABLE `package.json`")).toBe("0\n");
    expect(await engine.run("EXISTS TABLE `src/main.ts`")).toBe("0\n");
  });
});

describe("what such names are used for works", () => {
  test.each([
    ["SELECT 1 AS `/api/users`, 2 AS `p50 / ms`", "1\t2\n"],
    ["SELECT '/api/users', `req/s` FROM (SELECT 3 AS `req/s`)", "/api/users\t3\n"],
    ["SELECT number AS `/n` FROM numbers(2) GROUP BY number % 7, `/n` ORDER BY 1, `/n` DESC", "0\n1\n"],
    ["SELECT x.`/n`, `/n` FROM (SELECT 1 AS `/n`) AS x", "1\t1\n"],
    ["SELECT count() FROM merge(REGEXP('^def'), '[/]x{1,2}|^t$')", "0\n"],
    ["SELECT dictGet('d', 'v', 1), dictGetOrDefault('default.d', 'v', 2, '/')", "found\t/\n"],
    ["SELECT dictGet(d, 'v', k), dictGetOrDefault(default.d, 'v', 2, '/') FROM j", "found\t/\n"],
    ["SELECT v FROM dictionary('d')", "found\n"],
    ["SELECT v FROM dictionary(default.d)", "found\n"],
    ["SELECT joinGet(j, 'v', 1::UInt64), joinGet('default.j', 'v', 1::UInt64)", "joined\tjoined\n"],
    ["SELECT hasColumnInTable('default', 't', 'a'), hasColumnInTable(currentDatabase(), 't', 'b')", "1\t0\n"],
    ["SELECT v FROM loop(default, j) LIMIT 1", "joined\n"],
    ["SELECT number FROM loop(numbers(3)) LIMIT 2", "0\n1\n"],
  ])("%s", async (statement, answer) => {
    expect(await engine.run(statement)).toBe(answer);
  });

  test("parameters, tables with slashes, and engines that refer to tables", async () => {
    expect(await engine.run("SELECT dictGet({n:String}, 'v', 1)", { params: { n: "default.d" } })).toBe("found\n");
    await engine.run("CREATE TABLE {n:Identifier} (a String) ENGINE = Memory", { params: { n: "a/b" } });
    await engine.run("INSERT INTO {n:Identifier} VALUES ('/x')", { params: { n: "a/b" } });
    expect(await engine.run("SELECT a FROM `a/b`")).toBe("/x\n");
    await engine.run("CREATE TABLE buffered AS t ENGINE = Buffer(default, t, 1, 0, 0, 0, 0, 0, 0)");
    await engine.run("CREATE TABLE alias ENGINE = Alias('default', 'a/b')");
    expect(await engine.run("SELECT a FROM alias")).toBe("/x\n");
    for (const table of ["buffered", "alias", "`a/b`"]) await engine.run(`DROP TABLE ${table}`);
  });
});
