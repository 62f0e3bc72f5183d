/** The guard's queries to the engine, its cache, and where insert data begins. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cpuMs } from "../../../harness/cpu-time.ts";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { ClickHouseException } from "../../clickhouse/exception.ts";
import { Guard, type GuardRequest } from "./guard.ts";
import { guardQueryOf } from "./judge.ts";

let bare: BareEngine;
beforeAll(async () => {
  bare = await BareEngine.start();
});
afterAll(async () => await bare[Symbol.asyncDispose]());

/** A new guard, and what it asks the engine. */
function engine() {
  const asked: string[] = [];
  const guardQuery = guardQueryOf(bare.client);
  const recording = async (statement: string, params?: Readonly<Record<string, string>>) => {
    asked.push(statement);
    return await guardQuery(statement, params);
  };
  return { guard: new Guard({ guardQuery: recording }), asked };
}

const question = (text: string, more: Partial<GuardRequest> = {}): GuardRequest => ({
  text: Buffer.from(text),
  complete: true,
  params: [],
  settings: [],
  readonly: false,
  get: false,
  ...more,
});

describe("verdicts", () => {
  test("a text is read once: as canonical text and as a tree", async () => {
    const { guard, asked } = engine();
    for (const text of ["select 1 # '", "with 1 as a select a", "with 1 as a select a", "select 1 # '"]) {
      await guard.judge(question(text));
    }
    expect(asked).toEqual([
      expect.stringContaining("WITH 'select 1 # \\'' AS t SELECT"),
      "EXPLAIN AST select 1 # '",
      "SELECT formatQuerySingleLine('with 1 as a select a') FORMAT RawBLOB",
      "EXPLAIN AST with 1 as a select a",
    ]);
  });

  test("a cached verdict costs less than 20 microseconds", async () => {
    const { guard } = engine();
    const asking = question("select 1");
    // The best of ten: the first rounds also compile.
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 10; round += 1) {
      const taken = await cpuMs(async () => {
        for (let i = 0; i < 1_000; i += 1) await guard.judge(asking);
      });
      best = Math.min(best, taken / 1_000);
    }
    expect(best).toBeLessThan(0.02);
  });

  test("read-only users and GET read", async () => {
    const { guard } = engine();
    await expect(guard.judge(question("drop table t", { readonly: true }))).rejects.toMatchObject({
      codeName: "READONLY",
    });
    await expect(guard.judge(question("drop table t", { get: true }))).rejects.toMatchObject({ codeName: "READONLY" });
    await expect(guard.judge(question("select 1", { readonly: true, get: true }))).resolves.toMatchObject({
      kind: "read",
    });
  });

  test("functions of users are asked for by name", async () => {
    await bare.client.command("CREATE FUNCTION own AS (x) -> x");
    const { guard } = engine();
    await guard.judge(question("SELECT own(1)"));
    await expect(guard.judge(question("SELECT other(1)"))).rejects.toMatchObject({ codeName: "UNKNOWN_FUNCTION" });
  });

  test("the engine's syntax error does not show the guard's statement", async () => {
    const { guard } = engine();
    await expect(guard.judge(question("selec 1"))).rejects.toMatchObject({
      code: 62,
      message: expect.stringMatching(/^Syntax error: failed at position 1 [^`]*$/),
    });
    await expect(guard.judge(question("selec 1"))).rejects.not.toThrow(/formatQuery/);
  });

  test("a longer statement than the engine parses is refused", async () => {
    const { guard } = engine();
    const long = question(`select '${"x".repeat(262_144)}'`);
    await expect(guard.judge(long)).rejects.toMatchObject({ codeName: "QUERY_IS_TOO_LARGE" });
    await expect(guard.judge(question("select 1", { complete: false }))).rejects.toMatchObject({
      codeName: "QUERY_IS_TOO_LARGE",
    });
  });
});

describe("parameters", () => {
  const [a, b, c] = [
    "SELECT arrayMap({f:Identifier}, ['x'])",
    "SET param_f = 'f\\\\x69le'",
    "SELECT * FROM {t:Identifier}",
  ];
  test("cannot name a function that is not available, spelled in any way", async () => {
    const { guard } = engine();
    for (const value of ["file", "f\\x69le", "f\\Nile"]) {
      await expect(guard.judge(question(a, { params: [["f", value]] }))).rejects.toThrow("file");
    }
    await guard.judge(question(a, { params: [["f", "upper"]] }));
    await guard.judge(question(c, { params: [["t", "file"]] }));
  });
  test("of a session neither", async () => {
    const { guard } = engine();
    await expect(guard.judge(question(b))).rejects.toThrow("file");
  });
});

describe("settings of the request", () => {
  const judge = (name: string, value: string) =>
    engine().guard.judge(question("select 1", { settings: [[name, value]] }));
  test.each([
    ["max_threads", "1"],
    ["format_schema", ""],
    ["input_format_values_interpret_expressions", "0"],
    ["SQL_mine", "x"],
    ["max_query_size", "1000000"],
    ["additional_table_filters", "{'system.numbers':'number != 3'}"],
    ["additional_result_filter", "number != 3"],
    ["schema_inference_hints", "a Int8, b Array(String)"],
  ])("%s = %s", async (name, value) => {
    await judge(name, value);
  });
  test.each([
    ["format_schema", "x:Y"],
    ["input_format_values_interpret_expressions", "1"],
    ["profile", "other"],
    ["max_query_size", "100"],
    ["max_query_size", "0"],
    ["max_query_size", "1e9"],
    ["no_such_setting", "1"],
    ["ast_fuzzer_runs", "0.1"],
    ["ast_fuzzer_any_query", "1"],
    ["os_threads_nice_value_query", "-20"],
    ["additional_table_filters", "{'t':'file(\\'x\\') = \\'y\\''}"],
    ["additional_table_filters", "{'t':'f\\Nile(1)'}"],
    ["additional_table_filters", "{'t':concat('a','b')}"],
    ["schema_inference_hints", "a String DEFAULT file(1)"],
  ])("not %s = %s", async (name, value) => {
    await expect(judge(name, value)).rejects.toBeInstanceOf(ClickHouseException);
  });

  test("a table's definition cannot change others than the request", async () => {
    const create = (settings: string) =>
      engine().guard.judge(question(`CREATE TABLE c (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS ${settings}`));
    await create("max_threads = 1");
    for (const refused of ["profile = 'other'", "ast_fuzzer_any_query = 1", "max_threads = 1, format_schema = 'x:Y'"]) {
      await expect(create(refused), refused).rejects.toBeInstanceOf(ClickHouseException);
    }
  });

  test("a bound cannot be passed with DEFAULT, which the engine does not check", async () => {
    const set = (sql: string) => engine().guard.judge(question(sql));
    for (const name of ["readonly", "max_query_size", "min_free_disk_bytes_to_perform_insert"]) {
      await expect(set(`SET ${name} = DEFAULT`), name).rejects.toThrow(`Setting ${name} should not be changed`);
      await expect(set(`SET max_threads = 1, ${name} = DEFAULT`), name).rejects.toThrow("should not be changed");
    }
    await set("SET max_threads = DEFAULT");
    await set("SET min_free_disk_bytes_to_perform_insert = 9000000000");
  });
});

describe("data of an INSERT", () => {
  const judge = (text: string, more: Partial<GuardRequest> = {}) => engine().guard.judge(question(text, more));

  test("begins behind the format", async () => {
    expect(await judge("INSERT INTO t FORMAT CSV\n1,'")).toMatchObject({
      kind: "insert",
      head: { dataStart: 25 },
      expressions: false,
    });
    expect(await judge("INSERT INTO t FORMAT CSV \t\r\n\n")).toMatchObject({ head: { dataStart: 28 } });
    expect(await judge("INSERT INTO t FORMAT CSV\n1,2", { complete: false })).toMatchObject({
      head: { dataStart: 25 },
    });
    expect(await judge("insert into format format CSV\nformat x")).toMatchObject({ head: { dataStart: 30 } });
  });
  test("is as long as it likes", async () => {
    const long = `INSERT INTO t FORMAT CSV\n${"1\n".repeat(200_000)}`;
    expect(await judge(long)).toMatchObject({ head: { dataStart: 25 } });
  });
  test("of VALUES may compute with functions of the list", async () => {
    const head = "insert into t(a) /* ' */ values";
    for (const [data, expressions] of [
      [" (1), ('x')", true],
      [" (now() + INTERVAL 1 DAY), (upper('file(1)'))", true],
      [" (file('x'))", false],
      [" (`fi\\x6ce`('x'))", false],
      [" (arrayMap(file, ['x']))", false],
      [" ((SELECT 1))", false],
      [" (1 IN format(JSONEachRow, 'a Int8', '{}'))", false],
      [" ($a$ file(1) $a$)", false],
      [" (own(1))", false],
      [` (${"1,".repeat(600_000)}1)`, false],
    ] as const) {
      expect(await judge(head + data), data.slice(0, 50)).toMatchObject({
        head: { dataStart: head.length },
        expressions,
      });
    }
    expect(await judge(`${head} (1`, { complete: false })).toMatchObject({ expressions: false });
  });
  test("does not hide behind a heredoc", async () => {
    const text =
      "INSERT INTO t SELECT $a$ FROM input('x Int8') FORMAT CSV $a$, file('x') FROM input('x Int8') FORMAT CSV";
    await expect(judge(text)).rejects.toThrow("Function file is not available");
  });
  test("does not exist where the query reads tables", async () => {
    expect((await judge("INSERT INTO t SELECT 1 FORMAT CSV")).head).toBeUndefined();
  });
});
