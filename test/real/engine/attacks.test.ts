/**
 * No statement reads or writes a file of the host, runs a program, or reaches another server. Each attack worked on a
 * bare engine first.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

let stage: Stage;
let secret: string;
let loot: string;

beforeAll(async () => {
  stage = await Stage.open();
  secret = join(stage.dir, "secret.csv");
  loot = join(stage.dir, "loot");
  mkdirSync(loot);
  writeFileSync(secret, "topsecret,1\n");
  await stage.ok("CREATE TABLE t (a String, b String) ENGINE = MergeTree ORDER BY a");
});
afterAll(async () => await stage.close());

/** `@` is the secret file, `%` a folder that must stay empty. */
const statements: readonly string[] = [
  "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT f\\Nile(''@'')', '{\"a\":\"1\"}')",
  "SELECT {a:Enum8('}'=1)} AS h, file('@') AS f /*'*/",
  "SELECT 'x' WHERE {a:Enum8('}'=1)} = '}' INTO OUTFILE '%/o' APPEND FORMAT RawBLOB --'",
  "SELECT * FROM format(JSONEachRow, $a$a String, b String DEFAULT file('@')$a$, '{\"a\":\"1\"}')",
  'CREATE VIEW pv AS SELECT * FROM format(JSONEachRow, {s:String}, \'{"a":"1"}\')',
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(CLICKHOUSE(QUERY 'select 1, b from format(JSONEachRow, concat(\\'a String, b String DEFAULT fi\\', \\'le(1)\\'), \\'{}\\')')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE FUNCTION lk AS (x) -> (x, {a:Enum8('}'=1)}, file(x) /*'*/)",
  "SELECT * FROM file('@', 'CSV', 'a String, b Int')",
  "SELECT file('@')",
  "SELECT `file`('@')",
  "SELECT `fi\\x6ce`('@')",
  "SELECT \"file\"('@')",
  "SELECT “file”('@')",
  "SELECT arrayMap(file, ['@'])",
  "SELECT arrayMap((file), ['@'])",
  "SELECT * APPLY(file) FROM (SELECT '@' AS a)",
  "SELECT * APPLY file FROM (SELECT '@' AS a)",
  "SELECT COLUMNS('a') APPLY(x -> file(x)) FROM (SELECT '@' AS a)",
  "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT file(''@'')', '{\"a\":\"1\"}')",
  "SELECT * FROM format(JSONEachRow, concat('a String, b String DEFA', 'ULT fi', 'le(''@'')'), '{\"a\":\"1\"}')",
  "WITH concat('a String, b String DEFA', 'ULT fi', 'le(''@'')') AS s SELECT * FROM format(JSONEachRow, s, '{\"a\":\"1\"}')",
  "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT f\\x69le(''@'')', '{\"a\":\"1\"}')",
  "SELECT * FROM format(Values, 'a String', '(file(''@''))')",
  "SELECT b FROM generateRandom('a UInt8, b String ALIAS file(''@'')') LIMIT 1",
  "SELECT * FROM values(concat('a String, b String DEFAULT fi', 'le(1)'), ('x', 'y'))",
  "SELECT 1 FROM t SETTINGS additional_table_filters = {'t': 'file(\\'@\\') = \\'x\\''}",
  "SELECT * FROM eval('select file(''@'')') SETTINGS allow_experimental_eval_table_function = 1",
  "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT file('@')))",
  "INSERT INTO t VALUES ('1', file('@'))",
  "INSERT INTO t VALUES ('1', `fi\\x6ce`('@'))",
  "INSERT INTO t VALUES ('1', arrayMap(file, ['@'])[1])",
  "INSERT INTO t SETTINGS input_format_values_interpret_expressions = 1 VALUES ('1', file('@'))",
  "INSERT INTO t FROM INFILE '@' FORMAT CSV",
  "INSERT INTO FUNCTION file('%/a.csv', 'CSV', 'a Int') SELECT 1",
  "SELECT 1 INTO OUTFILE '%/o'",
  "SELECT 1 /* /* */ ' */ INTO OUTFILE '%/o' --'",
  "SELECT ‘ ' ’ INTO OUTFILE '%/o' --'",
  "SELECT 1 // '\n INTO OUTFILE '%/o' --'",
  "SELECT 1 INTO\u2003OUTFILE '%/o'",
  "SELECT * FROM '@'",
  "SELECT * FROM `@`",
  "DESCRIBE TABLE file('@')",
  "CREATE TABLE f1 (a String) ENGINE = File(CSV, '@')",
  "CREATE TABLE f2 (a String DEFAULT file('@')) ENGINE = Memory",
  "CREATE TABLE f3 AS file('@', 'CSV', 'a String')",
  "ALTER TABLE t ADD COLUMN z String DEFAULT file('@')",
  "CREATE FUNCTION leak AS (x) -> file(x)",
  "CREATE DATABASE fs ENGINE = Filesystem('/')",
  "ATTACH TABLE at FROM '%' (a Int) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE rocks (k UInt64) ENGINE = EmbeddedRocksDB(0, '%/rocks') PRIMARY KEY k",
  "CREATE TABLE fl (a String) ENGINE = FileLog('%', 'CSV')",
  "CREATE TABLE sq (a Int) ENGINE = SQLite('%/x.db', 't')",
  "CREATE TABLE il (a Int) ENGINE = IcebergLocal('%/ice')",
  "SELECT * FROM icebergLocal('%')",
  "CREATE TABLE d (a Int) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '%/d/')",
  "CREATE TABLE d (a Int) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = object_storage, object_storage_type = local, metadata_type = plain, path = '%/d/')",
  "CREATE DATABASE dd ENGINE = Atomic SETTINGS disk = disk(type = local, path = '%/d/')",
  "BACKUP DATABASE default TO File('%/b')",
  "BACKUP DATABASE default TO Null",
  "RESTORE TABLE x FROM File('%/b')",
  "SELECT 1 AS a FORMAT Protobuf SETTINGS output_format_schema = '%/p.proto'",
  "SELECT 1 FORMAT Protobuf SETTINGS format_schema = '@:X'",
  "SELECT 1 FORMAT Template SETTINGS format_template_row = '@'",
  "SELECT * FROM executable('id', 'CSV', 'a String')",
  "CREATE TABLE ex (a String) ENGINE = Executable('id', 'CSV')",
  "CREATE TABLE qr ENGINE = QueryRunner",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(EXECUTABLE(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(`EXECUTABLE`(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(FILE(path '@' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(HTTP(url 'http://127.0.0.1:1/' format 'TSV')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(CLICKHOUSE(HOST '127.0.0.2' TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)",
  "CREATE DICTIONARY x (k UInt64, v String) PRIMARY KEY k SOURCE(CLICKHOUSE(QUERY 'select 1, file(''@'')')) LAYOUT(FLAT()) LIFETIME(0)",
  "SELECT * FROM url('http://127.0.0.1:1/x', 'CSV', 'a Int')",
  "SELECT * FROM url('file://@', 'CSV', 'a String')",
  "SELECT * FROM remote('127.0.0.1:9000', 'system.one')",
  "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
  "SELECT * FROM postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
  "SELECT * FROM s3('file://@', 'CSV', 'a String')",
  "CREATE TABLE k (a String) ENGINE = Kafka('127.0.0.1:1', 't', 'g', 'CSV')",
  "CREATE DATABASE c ENGINE = DataLakeCatalog('http://127.0.0.1:1') SETTINGS warehouse = 'x', catalog_type = 'rest'",
  "CREATE NAMED COLLECTION nc AS url = 'http://127.0.0.1:1/'",
  "SYSTEM SHUTDOWN",
  "SYSTEM KILL",
  "SYSTEM STOP LISTEN HTTP",
  "DROP DATABASE system",
  "DETACH TABLE system.processes",
  "CREATE USER bob",
  "GRANT ALL ON *.* TO default",
  "SET dialect = 'kusto'",
  "SET allow_introspection_functions = 1",
  "SELECT 1; SELECT 2",
];

describe("no statement leaves the database", () => {
  test.each(statements)("%s", async (statement) => {
    const answer = await stage.query(statement.replaceAll("@", secret).replaceAll("%", loot));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toMatch(/^Code: \d+\. DB::Exception: /);
    expect(answer.text).not.toContain("topsecret");
  });

  test("bound parameters cannot smuggle it in either", async () => {
    const structure = `a String, b String DEFAULT file('${secret}')`;
    const sql = 'SELECT * FROM format(JSONEachRow, {s:String}, \'{"a":"1"}\')';
    expect((await stage.query(sql, { param_s: structure })).status).toBe(403);
    const named = await stage.query(`SELECT arrayMap({f:Identifier}, ['${secret}'])`, { param_f: "file" });
    expect(named.status).toBe(403);
    const params = { query: "INSERT INTO t VALUES", input_format_values_interpret_expressions: "1" };
    expect((await stage.query(`('1', file('${secret}'))`, params)).status).not.toBe(200);
  });

  test("nothing is added to a statement behind the guard", async () => {
    const command = `CREATE OR REPLACE DICTIONARY rx (k UInt64, v String) PRIMARY KEY k SOURCE(EXECUTABLE(command 'echo 1,x' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)`;
    const format = await stage.query("SELECT 1", { default_format: `Null; ${command}` });
    expect(format.text).toMatch(/UNKNOWN_FORMAT/);
    const header = { headers: { "X-ClickHouse-Format": `Null; SELECT file('${secret}')` } };
    expect((await stage.query("SELECT 1", {}, header)).text).toMatch(/UNKNOWN_FORMAT/);
    expect((await stage.query("SELECT dictGet('rx', 'v', 1)")).status).toBeGreaterThanOrEqual(400);
  });

  test("a parameter that is given twice is judged twice", async () => {
    const query = encodeURIComponent(`SELECT arrayMap({f:Identifier}, ['${secret}'])`);
    for (const params of ["param_f=file&param_f=upper", "param_f=upper&param_f=file"]) {
      const answer = await fetch(`${stage.url}/?${params}&query=${query}`, {
        headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "secret" },
      });
      expect(answer.status, await answer.text()).toBe(403);
    }
  });

  test("no setting ends a statement before its end", async () => {
    const query = `INSERT INTO t SELECT arrayMap($a$ -> file('${secret}'), [1])[1], '' FROM input('a String') FORMAT CSV `;
    const body = "x\n$a$, a FROM input('a String') FORMAT CSV\ny\n";
    for (const max of [query.length + 1, query.length + 3]) {
      expect((await stage.query(body, { query, max_query_size: String(max) })).status).toBeGreaterThanOrEqual(400);
    }
    expect((await stage.query(`SET max_query_size = ${query.length + 1}`)).text).toMatch(/max_query_size/);
    expect(await stage.ok("SELECT count() FROM t")).toBe("0");
  });

  test("a body is decoded in one way only", async () => {
    const body = gzipSync("INSERT INTO t FORMAT CSV\n1,2\n");
    const encoded = { headers: { "Content-Encoding": "gzip" } };
    for (const value of ["1", "yes", "True", "2"]) {
      expect((await stage.query(body, { decompress: value }, encoded)).text, value).toMatch(/BAD_ARGUMENTS/);
    }
    const twice = await fetch(`${stage.url}/?decompress=0&decompress=1`, {
      method: "POST",
      body,
      headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "secret" },
    });
    expect(await twice.text()).toMatch(/BAD_ARGUMENTS/);
  });

  test("a header is read by the engine as it was judged", async () => {
    const hidden = `SELECT file('${secret}')`;
    const body = `SELECT 'judged' /*\r\n--x\r\nContent-Disposition: form-data; name="query"\r\n\r\n${hidden}\r\n--x--\r\n*/`;
    const type = "multipart/form-data; boundary=x";
    for (const word of [
      `=?UTF-8?B?${Buffer.from(type).toString("base64")}?=`,
      `=?utf-8?Q?${type.replace("=", "=3D").replace(" ", "_")}?=`,
      `=?UTF-8?Q?multi?= =?UTF-8?Q?part/form-data;?= boundary=x`,
    ]) {
      const answer = await stage.query(body, {}, { headers: { "Content-Type": word } });
      expect(answer, word).toMatchObject({ status: 200, text: "judged\n" });
    }
    for (const name of ["X-ClickHouse-Database", "X-ClickHouse-Format", "X-ClickHouse-Quota", "Origin"]) {
      const answer = await stage.query("SELECT 1", {}, { headers: { [name]: "=?UTF-8?Q?system?=" } });
      expect(answer.text, name).toMatch(/BAD_ARGUMENTS/);
    }
    for (const name of ["User-Agent", "Referer", "tracestate"]) {
      const headers = { [name]: "http://host/?of==?UTF-8?Q?system?=" };
      expect(await stage.query("SELECT 1", {}, { headers }), name).toMatchObject({ status: 200, text: "1\n" });
    }
    const encoding = { headers: { "Content-Encoding": "=?UTF-8?Q?gzip?=" } };
    const params = { query: "INSERT INTO t FORMAT CSV" };
    expect((await stage.query(gzipSync("1,2\n"), params, encoding)).text).toMatch(/BAD_ARGUMENTS/);
  });

  test.each([
    "param_f ",
    "param_f\t",
    "=?UTF-8?Q?param=5Ff?=",
    "x; name=param_f",
    "=?UTF-8?Q?x?=",
    " ",
    "param_f\u0000",
  ])("a form has no field %j, which the engine would read as another name", async (name) => {
    const part = (field: string, value: string) =>
      `--x\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`;
    const query = `SELECT arrayMap({f:Identifier}, ['${secret}'])`;
    const body = `${part("query", query)}${part("param_f", "upper")}${part(name, "file")}--x--\r\n`;
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    expect((await stage.query(body, {}, { headers })).text).toMatch(/BAD_ARGUMENTS|UNKNOWN_SETTING/);
  });

  test.each(["param_a:b", "param_x[]", "param_#1", "param_$x", "param_a/b", "param_f(x)", "param_a b"])(
    "a form may have the field %j",
    async (name) => {
      const body = `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n--x--\r\n`;
      const headers = { "Content-Type": "multipart/form-data; boundary=x" };
      expect((await stage.query(body, { query: "SELECT 1" }, { headers })).text).toBe("1\n");
    },
  );

  test.each(["", '; filename="x"'])("a part of a form has a name%s", async (more) => {
    const body = `--x\r\nContent-Disposition: form-data${more}\r\n\r\n1\r\n--x--\r\n`;
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    expect((await stage.query(body, { query: "SELECT 1" }, { headers })).text).toMatch(/no name.*BAD_ARGUMENTS/);
  });

  test("a session keeps no name of a function", async () => {
    expect((await stage.query("SET param_f = 'file'", { session_id: "x" })).status).toBe(403);
    const sql = `SELECT arrayMap({f:Identifier}, ['${secret}'])`;
    expect((await stage.query(sql, { session_id: "x" })).status).toBeGreaterThanOrEqual(400);
  });

  test("a table of a form has a plain structure", async () => {
    const form = (structure: string, format: string) => {
      const data = new FormData();
      data.set("query", "SELECT * FROM d");
      data.set("d", new Blob(["(1)"]), "d.tsv");
      return stage.query("", { d_structure: structure, d_format: format }, { body: data });
    };
    expect((await form(`a String, b String DEFAULT file('${secret}')`, "TSV")).status).toBe(403);
    expect((await form("a String", "Values")).status).toBe(403);
    expect((await form("a String", "TSV")).text).toBe("(1)\n");
  });

  test.each([
    "KILL MUTATION WHERE 1",
    "SYSTEM STOP MERGES",
    "SYSTEM STOP VIEWS",
    "CREATE TEMPORARY TABLE x (a Int8)",
    "INSERT INTO FUNCTION s3('http://127.0.0.1:1/b/x.csv', NOSIGN, 'CSV', 'a String') SELECT 'x'",
  ])("a user who may only read, and a request by GET, cannot %s", async (statement) => {
    const reader = { headers: { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader" } };
    expect((await stage.query(statement, {}, reader)).text).toMatch(/READONLY|ACCESS_DENIED/);
    expect((await stage.query("", { query: statement }, { method: "GET" })).text).toMatch(/READONLY|ACCESS_DENIED/);
  });

  test("nothing was written, nothing was read, and the service is well", async () => {
    expect(readdirSync(loot)).toEqual([]);
    expect(existsSync(secret)).toBe(true);
    expect(await stage.ok("SELECT count() FROM t")).toBe("0");
  });

  test.each([
    ["SELECT file, count() FROM (SELECT 1 AS file) GROUP BY file", "1\t1"],
    ["SELECT format('{} {}', concat('a', 'b'), 'c')", "ab c"],
    ["SELECT * FROM values((1, toUInt8(1 + 1)))", "1\t2"],
    ['SELECT * FROM format(JSONEachRow, \'{"a":"1"}\')', "1"],
    ["SELECT 'open file (x) DEFAULT'", "open file (x) DEFAULT"],
    ["SELECT engine FROM system.tables WHERE name = 't'", "MergeTree"],
  ])("and what is harmless works: %s", async (statement, result) => {
    expect(await stage.ok(statement)).toBe(result);
  });
});
