/** What is harmless passes the guard, byte for byte, for full users and those who only read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Asking, GuardedEngine } from "../../../harness/engine/guarded-engine.ts";

let engine: GuardedEngine;

beforeAll(async () => {
  engine = await GuardedEngine.start();
  await engine.bare.client.command("CREATE TABLE t (a String, b String) ENGINE = MergeTree ORDER BY a");
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
});

async function run(statement: string, asking: Asking = {}): Promise<string> {
  return await engine.run(statement, asking);
}

describe("what is harmless works, byte for byte", () => {
  test.each([
    ["SELECT file, count() FROM (SELECT 1 AS file) GROUP BY file", "1\t1\n"],
    ["SELECT format('{} {}', concat('a', 'b'), 'c')", "ab c\n"],
    ["SELECT * FROM values('a UInt8, b String', (1, upper('x')))", "1\tX\n"],
    ["SELECT hex('\xff'), hex(x'00ff'), length($$ ' $$)", "FF\t00FF\t3\n"],
    ["WITH x -> x + 1 AS inc SELECT inc(1)", "2\n"],
    ["SELECT arrayMap(upper, ['a'])", "['A']\n"],
    [
      "SELECT number FROM system.numbers LIMIT 1 SETTINGS additional_table_filters = {'system.numbers': 'number != 0'}",
      "1\n",
    ],
    ["SELECT count() FILTER (WHERE number > 1), sum(DISTINCT number) FROM numbers(4)", "2\t6\n"],
    ["SELECT CASE number WHEN 0 THEN 'a' ELSE 'b' END, number BETWEEN 0 AND 1 FROM numbers(1)", "a\t1\n"],
    ["EXPLAIN SYNTAX SELECT 1", "SELECT 1\nFROM system.one\n"],
    ["SELECT 1 WHERE EXISTS (SELECT 1)", "1\n"],
    ["SELECT * APPLY(sum, 'it_') FROM (SELECT 1 AS a)", "1\n"],
    ["SELECT * APPLY quantile(0.5) APPLY (x -> x + 1) FROM (SELECT 1 AS a)", "2\n"],
    [
      "SELECT \"a(b)\", 'it''s', '\\d' FROM (SELECT 1 AS \"a(b)\") WHERE \"a(b)\" BETWEEN 1 AND 2",
      "1\tit\\'s\t\\\\d\n",
    ],
    ["SELECT CREATE, TABLE, PARALLEL FROM (SELECT 1 AS CREATE, 2 AS TABLE, 3 AS PARALLEL)", "1\t2\t3\n"],
  ])("%s", async (statement, result) => {
    expect(await run(statement)).toBe(result);
    expect(await run(statement, { user: "reader" })).toBe(result);
  });

  test("a heredoc", async () => {
    const heredoc = `$a$${'{"a":"it\'s"}'}$a$`;
    expect(await run(`SELECT * FROM format(JSONEachRow, 'a String', ${heredoc})`)).toBe("it\\'s\n");
  });

  test("a parameter with a dollar", async () => {
    expect(await run("SELECT {id$:Int32}", { params: { id$: "5" } })).toBe("5\n");
  });

  test("definitions, also with names of functions", async () => {
    for (const name of ["file", "executable", "s3", "values", "url", "`\\`quote\\`insert\\``"]) {
      await run(
        `CREATE TABLE ${name} (file Int8, b DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = MergeTree ORDER BY file`,
      );
      await run(`INSERT INTO ${name} (file) VALUES (1), (1 + 1)`);
      await run(`INSERT INTO ${name} (file) FORMAT CSV\n3\n`);
      await run(`INSERT INTO ${name} (file) SELECT x FROM input('x Int8') FORMAT CSV\n4\n`);
      expect(await run(`SELECT count(), sum(file) FROM ${name}`)).toBe("4\t10\n");
      await run(`DROP TABLE ${name}`);
    }
    await run("CREATE FUNCTION plus_one AS (x) -> x + 1");
    await run("CREATE VIEW above AS SELECT number FROM numbers(10) WHERE number > {least:UInt8}");
    expect(await run("SELECT plus_one(number) FROM above(least = 8)")).toBe("10\n");
    expect(await run("SELECT number FROM default.`above`(least = 8)")).toBe("9\n");
    await run(
      "CREATE DICTIONARY dict (number UInt64) PRIMARY KEY number SOURCE(CLICKHOUSE(QUERY 'SELECT number FROM numbers(3)')) LAYOUT(FLAT()) LIFETIME(0)",
    );
    expect(await run("SELECT dictHas('dict', 2), dictHas('dict', 3)")).toBe("1\t0\n");
    await run("CREATE MATERIALIZED VIEW m ENGINE = MergeTree ORDER BY a AS SELECT upper(a) AS a FROM t");
    for (const name of ["VIEW m", "VIEW above", "DICTIONARY dict", "FUNCTION plus_one"]) await run(`DROP ${name}`);
  });
});

describe("values that are not plain literals", () => {
  test.each([
    ["DateTime64(3)", "'2025-07-15 14:30:45'::DateTime64(3)", "2025-07-15 14:30:45.000"],
    ["Decimal(9, 2)", "'1.5'::Decimal(9, 2)", "1.5"],
    ["Decimal(9, 2)", "CAST('1.5' AS Decimal(9, 2))", "1.5"],
    ["String", "x'41'", "A"],
    ["Int32", "0x1F", "31"],
    ["Int32", "1_000", "1000"],
    ["String", '$$it\'s (a) "text"$$', 'it\\\'s (a) "text"'],
    ["Array(Bool)", "[1, 0]", "[true,false]"],
  ])("%s: %s", async (type, value, result) => {
    await run(`CREATE OR REPLACE TABLE vt (a ${type}) ENGINE = Memory`);
    await run(`INSERT INTO vt VALUES (${value}), (${value})`);
    expect(await run("SELECT * FROM vt")).toBe(`${result}\n${result}\n`);
    await run("DROP TABLE vt");
  });
});
