/**
 * The guard in front of a genuine engine, for full and read-only users. Whatever the guard accepts is run, so a hole
 * shows in the result: `@` is a secret file, `%` a folder that must stay empty, `#` a listener that must receive no
 * request.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { type Asking, GuardedEngine } from "../../../harness/engine/guarded-engine.ts";
import { ClickHouseException } from "../../clickhouse/exception.ts";
import type { Guard } from "./guard.ts";

let behindGuard: GuardedEngine;
let engine: BareEngine;
let guard: Guard;
let secret: string;
let loot: string;
let listener: Server;
const visits: string[] = [];

beforeAll(async () => {
  behindGuard = await GuardedEngine.start();
  ({ bare: engine, guard } = behindGuard);
  secret = join(engine.dir, "secret.csv");
  loot = join(engine.dir, "loot");
  mkdirSync(loot);
  writeFileSync(secret, "topsecret,1\n");
  listener = createServer((request, response) => {
    visits.push(request.url ?? "");
    response.end("topsecret,1\n");
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  await engine.client.command("CREATE TABLE t (a String, b String) ENGINE = MergeTree ORDER BY a");
});
afterAll(async () => {
  listener.close();
  await behindGuard[Symbol.asyncDispose]();
});

const fill = (text: string) =>
  text
    .replaceAll("@", secret)
    .replaceAll("%", loot)
    .replaceAll("#", `http://127.0.0.1:${(listener.address() as AddressInfo).port}`);

/**
 * Judges the statement, and runs exactly the judged text. Resolves to the answer; rejects with the guard's or the
 * engine's error.
 */
async function run(statement: string, { params = {}, ...asking }: Asking = {}): Promise<string> {
  const filled = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, fill(value)]));
  return await behindGuard.run(fill(statement), { params: filled, ...asking });
}

/** Rejected by the guard itself, not by missing grants of the engine. */
async function guarded(statement: string, asking: Asking = {}): Promise<void> {
  const error = await run(statement, asking).then(
    (answer) => new Error(`answered ${answer}`),
    (reason) => reason as Error,
  );
  expect(error, error.message).toBeInstanceOf(ClickHouseException);
}

const dictionary = (source: string) =>
  `CREATE OR REPLACE DICTIONARY rx (k UInt64, v String) PRIMARY KEY k SOURCE(${source}) LAYOUT(FLAT()) LIFETIME(0)`;

describe("statements about users, roles and grants", () => {
  const judged = async (sql: string) =>
    await guard.judge({
      text: Buffer.from(sql),
      complete: true,
      params: [],
      settings: [],
      readonly: false,
      get: false,
    });

  test("are read as the engine reads them, and are of a kind of their own", async () => {
    const sql = "/* a */ grant Select(`a\\`b`, c), insert on `d b`.t, update on pre*.* to u, `v-w` -- TO default";
    const on = { database: { name: "d b" }, table: { name: "t" } };
    expect(await judged(sql)).toMatchObject({
      kind: "access",
      access: {
        ...{ type: "grant", names: ["u", "v-w"] },
        privileges: [
          { privilege: "SELECT", columns: ["a`b", "c"], ...on },
          { privilege: "INSERT", ...on },
          { privilege: "ALTER UPDATE", database: { name: "pre", prefix: true } },
        ],
      },
    });
  });

  test.each([
    ["a second statement", "CREATE ROLE r; DROP TABLE t"],
    ["one in parallel", "CREATE ROLE r PARALLEL WITH DROP TABLE t"],
    ["the user default, quoted", "GRANT SELECT ON *.* TO `def\\x61ult`"],
    ["our own users", "CREATE USER `millrace-internal` IDENTIFIED BY 'x'"],
    ["markup in a name", "CREATE USER `a><b` IDENTIFIED BY 'x'"],
    ["markup in a role", "CREATE ROLE `</roles>`"],
    ["a file to read", "GRANT READ ON FILE TO u"],
    ["a file to read among others", "GRANT SELECT, FILE ON *.* TO u"],
    ["every privilege", "GRANT ALL ON *.* TO u"],
    ["the right to grant", "GRANT SELECT ON *.* TO u WITH GRANT OPTION"],
    ["another user's rights", "GRANT IMPERSONATE ON default TO u"],
    ["the engine's own tables", "GRANT INSERT ON system.users TO u"],
    ["a name from a parameter", "GRANT SELECT ON *.* TO {u:Identifier}"],
  ])("do not give or hold %s", async (_, sql) => {
    await expect(judged(sql)).rejects.toBeInstanceOf(ClickHouseException);
  });

  test("are not for read-only users", async () => {
    await guarded("CREATE ROLE r", { user: "reader" });
  });
});

describe("the ways in that were found", () => {
  test.each([
    [
      "an empty escape",
      "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT f\\Nile(''@'')', '{\"a\":\"1\"}')",
    ],
    [
      "binary digits without the leading zero",
      `SELECT * FROM format(JSONEachRow, b'${binary("a String, b String DEFAULT file('@')")}', '{"a":"1"}')`,
    ],
    [
      "an odd number of hexadecimal digits",
      `SELECT * FROM format(JSONEachRow, x'9${hex("a String, b String DEFAULT file('@')")}', '{"a":"1"}')`,
    ],
    ["a brace in a parameter's type", "SELECT {a:Enum8('}'=1)} AS h, file('@') AS f /*'*/"],
    ["a heredoc", "SELECT * FROM format(JSONEachRow, $a$a String, b String DEFAULT file('@')$a$, '{\"a\":\"1\"}')"],
    ["a dictionary's program", dictionary("EXECUTABLE(command 'echo 1,CANARY' format 'CSV')")],
    ["a dictionary's file", dictionary("FILE(path '@' format 'CSV')")],
    [
      "a dictionary's query",
      dictionary(
        "CLICKHOUSE(QUERY 'select 1, b from format(JSONEachRow, concat(\\'a String, b String DEFAULT fi\\', \\'le(1)\\'), \\'{}\\')')",
      ),
    ],
    ["a dictionary's condition", dictionary("CLICKHOUSE(TABLE 't' WHERE 'a = file(1)')")],
    [
      "a query in a dictionary's query",
      dictionary(`CLICKHOUSE(QUERY 'SELECT 1, \\'a\\' SETTINGS additional_table_filters = {\\'t\\': \\'file(1)\\'}')`),
    ],
    [
      "a parameter that a dictionary's query sets",
      dictionary("CLICKHOUSE(QUERY 'SELECT 1 SETTINGS param_f = \\'file\\'')"),
    ],
    ["a parametrised view", 'CREATE VIEW pv AS SELECT * FROM format(JSONEachRow, {s:String}, \'{"a":"1"}\')'],
    ["a view's name for a function", "CREATE VIEW pv AS SELECT arrayMap({f:Identifier}, ['@'])"],
    ["an appended file", "SELECT 'x' WHERE {a:Enum8('}'=1)} = '}' INTO OUTFILE '%/x' APPEND FORMAT RawBLOB --'"],
    ["a user's function", "CREATE FUNCTION lk AS (x) -> (x, {a:Enum8('}'=1)}, file(x) /*'*/)"],
    ["a user's function that applies another", "CREATE FUNCTION lk AS (x) -> arrayMap(file, x)"],
    ["a filter as a setting", "SELECT * FROM t SETTINGS additional_table_filters = {'t': 'file(\\'@\\') = \\'x\\''}"],
    ["a default of a column", "ALTER TABLE t ADD COLUMN z String DEFAULT file('@')"],
    ["a life time", "CREATE TABLE u (a String) ENGINE = MergeTree ORDER BY a TTL toDateTime(file('@'))"],
    ["an index", "ALTER TABLE t ADD INDEX i file(a) TYPE minmax"],
    ["a constraint", "ALTER TABLE t ADD CONSTRAINT c CHECK file(a) = ''"],
    ["a projection", "ALTER TABLE t ADD PROJECTION p (SELECT file(a) ORDER BY a)"],
    ["a materialized view", "CREATE MATERIALIZED VIEW m ENGINE = Memory AS SELECT file(a) AS f FROM t"],
    ["a row policy", "CREATE ROW POLICY p ON t USING file(a) = ''"],
    ["a named collection", "CREATE NAMED COLLECTION nc AS url = 'http://127.0.0.1:1/'"],
  ])("%s", async (_, statement) => {
    await guarded(statement, { params: { a: "}" } });
    if (statement.startsWith("SELECT")) await guarded(statement, { params: { a: "}" }, user: "reader" });
  });

  test("a structure that is unescaped later", async () => {
    const sql = 'SELECT * FROM format(JSONEachRow, {s:String}, \'{"a":"1"}\')';
    await guarded(sql, { params: { s: "a String, b String DEFAULT f\\x69le('@')" } });
  });
  test("a structure under an alias that is a parameter", async () => {
    const structure = `'a String, b String DEFAULT file(\\'@\\')'`;
    const sql = `WITH ${structure} AS {f:Identifier} SELECT * FROM generateRandom(NOSIGN) LIMIT 1`;
    await guarded(sql, { params: { f: "NOSIGN" } });
    await guarded(`CREATE VIEW pv AS ${sql}`);
  });
  test("a function's name that a session keeps", async () => {
    await guarded("SET param_f = 'file'");
    await guarded("SELECT arrayMap({f:Identifier}, ['@'])", { params: { f: "f\\x69le" } });
  });
  test("a setting of the request", async () => {
    await guarded("SELECT * FROM t", { settings: { additional_table_filters: "{'t':'file(\\'@\\') = \\'x\\''}" } });
    await guarded("SELECT 1 FORMAT Protobuf", { settings: { format_schema: "@:X" } });
    await guarded("SELECT 1", { settings: { profile: "internal" } });
  });
  test("data of VALUES", async () => {
    for (const value of [
      "file('@')",
      "`fi\\x6ce`('@')",
      "arrayMap(file, ['@'])[1]",
      "(SELECT file('@'))",
      "$a$x$a$ || file('@')",
    ]) {
      await expect(run(`INSERT INTO t VALUES ('1', ${value})`), value).rejects.toThrow();
    }
    expect(await run("SELECT count() FROM t")).toBe("0\n");
  });
  test("object storage on this machine is named to the policy of addresses", async () => {
    const text = Buffer.from(fill("SELECT * FROM s3('#/bucket/x', NOSIGN, 'CSV', 'a String')"));
    const verdict = await guard.judge({ text, complete: true, params: [], settings: [], readonly: true, get: true });
    expect(verdict.addresses).toEqual([fill("#/bucket/x")]);
  });
});

/** Each passed once, and the first five read the file: the formatter writes what is after APPLY as it is. */
describe("what the canonical text hides", () => {
  const open = "file('@') AS f";
  test.each([
    ["a function before a prefix", "SELECT * APPLY(file, 'x') FROM (SELECT '@' AS a)"],
    ["a quote in a name", `SELECT COLUMNS('z') APPLY \`toString '\`, ${open}, COLUMNS('z') APPLY \`toString'\` FROM t`],
    [
      "quotes in names that format to themselves",
      `SELECT COLUMNS('z') APPLY \`toString, '\`, ${open}, COLUMNS(' AS y, ') APPLY \`k'\` FROM t`,
    ],
    [
      "a quote in a prefix",
      `SELECT COLUMNS('z') APPLY(sum, 'k\\' y '), ${open}, COLUMNS('z') APPLY(sum, 'k\\' y ') FROM t`,
    ],
    [
      "a text twice in the canonical text for one that is hidden",
      `SELECT COLUMNS('z') APPLY(sum, 'k'' y '), ${open}, COLUMNS('z') APPLY(sum, 'k'' y '), 'k'' y ' BETWEEN '' AND '' FROM t`,
    ],
    ["a function with parameters before a prefix", "SELECT * APPLY(file(1), 'x') FROM (SELECT '@' AS a)"],
    ["a function of a stored view", "CREATE VIEW av AS SELECT * APPLY(file, 'x') FROM (SELECT '@' AS a)"],
    ["a function of a function", "CREATE FUNCTION gf AS (x) -> (SELECT * APPLY(file, 'p') FROM (SELECT x AS a))"],
    ["a function of a change", "ALTER TABLE t UPDATE b = (SELECT * APPLY(file, 'p') FROM (SELECT '@' AS a)) WHERE 1"],
  ])("%s", async (_, statement) => {
    await guarded(statement);
    await guarded(statement, { user: "reader" });
  });

  /**
   * Its prefix, written as it is, turns the rest into texts and back. The subjects of BETWEEN, which are written twice,
   * make up for the texts that are missing, and its words for the two APPLY that a reader of the text does not see.
   */
  const prefix = "sum APPLY max + sum APPLY max + toString(') , c".replace("'", "\\'");
  const hidden =
    `SELECT COLUMNS('a') APPLY(toString, '${prefix}'), COLUMNS('a') APPLY(x -> file('@')), ` +
    `COLUMNS('z') APPLY(toString, '${prefix}'), ` +
    `'${prefix}' BETWEEN '' AND '', '${prefix}' BETWEEN '' AND 'z' FROM (SELECT 'q' AS a)`;
  test.each([
    "",
    "CREATE VIEW bv AS ",
    "CREATE MATERIALIZED VIEW bm ENGINE = Memory AS ",
    "CREATE TABLE bt ENGINE = Memory AS ",
    "INSERT INTO t (a) ",
    "EXPLAIN PLAN actions = 1 ",
    "DESCRIBE ",
    "ALTER TABLE t UPDATE b = @ WHERE 1",
  ])("quotes that are counted twice: %s", async (before) => {
    const inner = before.startsWith("DESCRIBE") || before.includes("@") ? `(${hidden})` : hidden;
    const statement = before.includes("@") ? before.replace("@", inner) : before + inner;
    await guarded(statement);
    if (!before.startsWith("C")) await guarded(statement, { user: "reader" });
  });

  test("keys of a dictionary's source that are counted twice, and hide the host", async () => {
    const between = (name: string) => `EXPRESSION \`${name}\` BETWEEN 1 AND 2`;
    await guarded(
      `CREATE OR REPLACE DICTIONARY rx (k UInt64, v String ${between("USER'")}, w String ${between("a' USER")}) PRIMARY KEY k ` +
        "SOURCE(CLICKHOUSE(`USER'` 'DB' HOST 'PASSWORD' `a' USER` 'x' TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)",
    );
  });

  const firsts = [
    "USE default",
    "SET max_threads = 1",
    "SYSTEM FLUSH LOGS",
    "SELECT 1",
    "KILL QUERY WHERE 0",
    "CREATE ROLE r",
  ];
  const seconds = ["CREATE TABLE pw (a Int8) ENGINE = Memory", "ALTER TABLE t FREEZE", "SELECT 1", "DROP TABLE t"];
  test.each(firsts.flatMap((first) => seconds.map((second) => `${first} PARALLEL WITH ${second}`)))(
    "%s",
    async (sql) => {
      await guarded(sql);
    },
  );

  test.each(["SOURCE", "layout", "EXECUTABLE_POOL", "Direct", "MergeTree", "numbers", "Array"])(
    "a function named %s, which would make a clause a call",
    async (name) => {
      await guarded(`CREATE FUNCTION ${name} AS (x) -> x`);
      await guarded(`CREATE OR REPLACE FUNCTION \`${name}\` AS (x) -> x`);
      await guarded(`CREATE FUNCTION IF NOT EXISTS ${name} AS (x) -> x`);
    },
  );
});

describe("texts that cost", () => {
  test.each([
    ["heredocs that nothing closes", Array.from({ length: 30_000 }, (_, i) => `$a${i}$`).join(" ")],
    ["a subject that is written twice, and twice, and twice", `SELECT n${" BETWEEN 1 AND 2".repeat(40)} FROM t`],
    ["the same with a comma in quotes between", `SELECT n${" BETWEEN 1 AND ',('".repeat(40)} FROM t`],
    ["the same in parentheses", `SELECT ${"(".repeat(40)}n${" BETWEEN 1 AND 2)".repeat(40)} FROM t`],
    ["half a megabyte", `SELECT '${"x".repeat(524_288)}'`],
    ["parentheses", `SELECT ${"(".repeat(100_000)}`],
    ["a function in a function", `SELECT ${"f(".repeat(80_000)}`],
  ])("%s", async (_, statement) => {
    // Most of the time is the engine's: a text whose cost grows like a square or a power takes far longer than this.
    const start = performance.now();
    await guarded(statement);
    expect(performance.now() - start).toBeLessThan(60_000);
  });
});

describe("users who may only read", () => {
  const asking = { user: "reader" } as const;
  test.each([
    "KILL MUTATION WHERE 1",
    "SYSTEM STOP MERGES",
    "SYSTEM STOP VIEWS",
    "SYSTEM STOP TTL MERGES",
    "SYSTEM STOP MOVES",
    "CREATE TEMPORARY TABLE x (a Int8)",
    "INSERT INTO FUNCTION s3('#/bucket/new', NOSIGN, 'CSV', 'a String') SELECT 'exfil'",
    "INSERT INTO t VALUES (1, 2)",
    "ALTER TABLE t FREEZE",
    "DROP TABLE t",
    "OPTIMIZE TABLE t",
  ])("%s", async (statement) => await guarded(statement, asking));

  test("end their own queries only", async () => {
    const slow = "SELECT sleepEachRow(1) FROM numbers(20) SETTINGS max_block_size = 1";
    const own = engine.clientOf("reader").text(slow, { queryId: "own" });
    const other = engine.clientOf("default").text(slow, { queryId: "other" });
    own.catch(() => {});
    other.catch(() => {});
    const running = async () =>
      (
        await engine.client.rows<{ query_id: string }>(
          "SELECT query_id FROM system.processes WHERE query_id IN ('own', 'other')",
        )
      )
        .map((row) => row.query_id)
        .sort();
    await expect.poll(running).toEqual(["other", "own"]);
    await run("KILL QUERY WHERE 1 SYNC", asking).catch(() => {});
    await expect(own).rejects.toThrow(/394|cancel/i);
    expect(await running()).toEqual(["other"]);
    await engine.client.command("KILL QUERY WHERE query_id = 'other' SYNC");
  });

  test("KILL QUERY of a full user ends nothing of this program", async () => {
    const slow = "SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1";
    const internal = engine.client.text(slow, { queryId: "internal" });
    internal.catch(() => {});
    const isRunning = async () =>
      (await engine.client.rows("SELECT 1 FROM system.processes WHERE query_id = 'internal'")).length === 1;
    await expect.poll(isRunning).toBe(true);
    await run("KILL QUERY WHERE 1 SYNC");
    expect(await isRunning()).toBe(true);
    expect(await run("SELECT 1")).toBe("1\n");
    await engine.client.command("KILL QUERY WHERE query_id = 'internal' SYNC");
    await expect(internal).rejects.toThrow(/394|cancel/i);
  });
});

describe("tables of the engine's own", () => {
  test.each([
    "CREATE TABLE o ENGINE = Alias('system.processes')",
    "CREATE TABLE o ENGINE = Alias('processes')",
    "CREATE TABLE o ENGINE = Alias(system.processes)",
    "CREATE TABLE o AS t ENGINE = Buffer('', 'processes', 1, 10, 100, 1000, 10000, 1000000, 10000000)",
    "CREATE TABLE o AS system.processes ENGINE = Buffer('system', 'processes', 1, 10, 100, 1000, 10000, 1000000, 10000000)",
    "CREATE TABLE o AS t ENGINE = Buffer(currentDatabase(), 'query_log', 1, 10, 100, 1000, 10000, 1000000, 10000000)",
  ])("are shown by no table of another: %s", async (statement) => {
    await guarded(statement);
  });
  test.each(["models", "stack_trace", "jemalloc_profile_text"])("that act are not read: %s", async (table) => {
    for (const user of ["default", "reader"] as const) {
      await expect(run(`SELECT * FROM system.${table} LIMIT 1`, { user })).rejects.toThrow("ACCESS_DENIED");
    }
    await expect(run(`SELECT * FROM merge('system', '^${table}$') LIMIT 1`)).rejects.toThrow();
  });
});

test("no file was read or written, and nobody was asked", async () => {
  expect(readdirSync(loot)).toEqual([]);
  expect(visits).toEqual([]);
});

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

/** Binary digits of the bytes, without leading zeros. */
function binary(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("")
    .replace(/^0+/, "");
}
