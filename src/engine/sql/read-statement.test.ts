/** The rules, on texts as the engine's formatter writes them. `guard.real.test.ts` tests them through an engine. */
import { describe, expect, test } from "vitest";
import { cpuMs } from "../../../harness/cpu-time.ts";
import { ClickHouseException } from "../../clickhouse/exception.ts";
import { readStatement } from "./read-statement.ts";

const refused = (canonical: string) => {
  expect(() => readStatement(canonical)).toThrow(ClickHouseException);
};

describe("what is not on a list is refused", () => {
  test.each([
    "SELECT file('x')",
    "SELECT arrayMap(file, ['x'])",
    "SELECT arrayMap((file), ['x'])",
    "SELECT ownFunction(file, ['x'])",
    "SELECT * APPLY file FROM t",
    "SELECT * APPLY x -> file(x) FROM t",
    "SELECT CAST(file('x'), 'String')",
    "SELECT * FROM `file`('x')",
    "SELECT __getScalar('x')",
    "SELECT catboostEvaluate('x', 1)",
    "SELECT getClientHTTPHeader('X')",
    "SELECT hasColumnInTable('host', 'user', 'password', 'd', 't', 'c')",
    "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT file('x')))",
    "INSERT INTO FUNCTION file('x') SELECT 1",
    "INSERT INTO t SELECT * FROM url('http://x')",
    "DESCRIBE TABLE executable('x')",
    "SELECT 1 INTO OUTFILE 'x'",
    "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
    "CREATE TABLE t (`a` String) ENGINE = File(CSV)",
    "CREATE TABLE t (`a` String) ENGINE = `Executable`('x')",
    "CREATE TABLE t (`a` String DEFAULT file('x')) ENGINE = Memory",
    "CREATE TABLE t (`a` String) ENGINE = MergeTree ORDER BY a TTL file(a)",
    "CREATE TABLE t (`a` String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = 'x')",
    "CREATE TABLE t (`a` String) ENGINE = MergeTree ORDER BY a SETTINGS disk = 'other'",
    "CREATE TABLE t AS file('x')",
    "CREATE TABLE ts ENGINE = TimeSeries TAGS INNER ENGINE = File(CSV)",
    "CREATE DATABASE d ENGINE = Filesystem('x')",
    "CREATE FUNCTION f AS x -> file(x)",
    "CREATE VIEW v SQL SECURITY NONE AS SELECT 1",
    "CREATE VIEW v DEFINER = `millrace-internal` SQL SECURITY DEFINER AS SELECT 1",
    "CREATE USER bob",
    "CREATE NAMED COLLECTION a AS url = 'x'",
    "CREATE ROW POLICY p ON t FOR SELECT USING 1",
    "ATTACH TABLE t FROM 'x' (`a` Int8) ENGINE = Memory",
    "ATTACH TABLE t (`a` Int8) ENGINE = Memory",
    "ALTER TABLE v (MODIFY SQL SECURITY NONE)",
    "ALTER TABLE v (MODIFY DEFINER = `millrace-internal`)",
    "ALTER TABLE t (FREEZE)",
    "ALTER TABLE t (FETCH PARTITION 1 FROM 'x')",
    "ALTER TABLE t (MOVE PARTITION 1 TO DISK 'x')",
    "ALTER TABLE t (DROP COLUMN a), (ADD COLUMN `a` String DEFAULT file('x'))",
    "SYSTEM SHUTDOWN",
    "SYSTEM STOP LISTEN HTTP",
    "SYSTEM RELOAD CONFIG",
    "SYSTEM ENABLE FAILPOINT x",
    "BACKUP TABLE t TO File('x')",
    "RESTORE TABLE t FROM File('x')",
    "GRANT ALL ON *.* TO x",
    "SET DEFAULT ROLE r TO bob",
    "EXECUTE AS x SELECT 1",
    "KILL PART_MOVE_TO_SHARD WHERE 1",
    "CREATE TABLE a (`a` Int8) ENGINE = Memory PARALLEL WITH CREATE TABLE b (`a` Int8) ENGINE = Memory",
    "SET dialect = 'kusto'",
    "SET profile = 'other'",
    "SELECT 1 SETTINGS format_schema = 'x:Y'",
    "SELECT * FROM (SELECT 1 SETTINGS compatibility = '20.1')",
    "INSERT INTO t SELECT 1 PARALLEL WITH INSERT INTO t SELECT 2",
    "INSERT INTO t SELECT 'y' FORMAT a b",
    "INSERT INTO t SELECT 'y' FORMAT a ' PARALLEL WITH INSERT INTO t SELECT file('x') FORMAT  '",
    "EXPLAIN INSERT INTO t SELECT 1 FORMAT a ' INTO OUTFILE ' '",
    "EXPLAIN SELECT file('x')",
    "t",
  ])("%s", refused);
});

test.each([
  ["ALTER TABLE t (FREEZE)", "ALTER TABLE ... FREEZE is not available."],
  ["ALTER TABLE t (FETCH PARTITION 1 FROM 'x')", "ALTER TABLE ... FETCH PARTITION is not available."],
  [
    "SELECT 1 INTO OUTFILE 'x'",
    "INTO OUTFILE and FROM INFILE are not available: send or save the data with the client.",
  ],
])("the refusal of %s names what is not available, whatever the protocol", (canonical, sentence) => {
  expect(() => readStatement(canonical)).toThrow(sentence);
});

describe("structures of table functions are literals of names and types", () => {
  test.each([
    "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT file(\\'x\\')', '{}')",
    "SELECT * FROM format(JSONEachRow, 'a String, b String DEFAULT f\\\\x69le(\\'x\\')', '{}')",
    "SELECT * FROM format(JSONEachRow, 'a String, b String/**/DEFAULT file(1)', '{}')",
    "SELECT * FROM format(JSONEachRow, {s:String}, '{}')",
    "SELECT * FROM format(JSONEachRow, concat('a String', ''), '{}')",
    "WITH 'a String' AS s SELECT * FROM format(JSONEachRow, s, '{}')",
    "WITH s AS (SELECT 'a String') SELECT * FROM format(JSONEachRow, s, '{}')",
    "SELECT * FROM format({f:String}, '{}')",
    "SELECT * FROM format(Values, 'a String', '(file(1))')",
    "SELECT * FROM values(concat('a String', ''), 'x')",
    "SELECT * FROM generateRandom('a UInt8, b String ALIAS file(\\'x\\')')",
    "INSERT INTO t SELECT * FROM input('a String MATERIALIZED file(1)') FORMAT CSV",
    "SELECT * FROM s3('http://x', NOSIGN, 'CSV', 'a String EPHEMERAL file(1)')",
    "SELECT * FROM s3('http://x', NOSIGN, 'CSV', structure = 'a String DEFAULT file(1)')",
    "SELECT * FROM s3({u:String})",
    "SELECT * FROM s3(concat('http://', 'x'))",
    "CREATE FUNCTION f AS NOSIGN -> (SELECT * FROM s3('http://x', NOSIGN))",
    "SELECT * FROM viewIfPermitted((SELECT 1) ELSE null('a Int8 DEFAULT file(1)'))",
  ])("%s", refused);

  test.each([
    "SELECT * FROM format(JSONEachRow, 'a String, b Array(Nullable(String)), `c d` Enum8(\\'a\\' = -1)', '{}')",
    "SELECT * FROM format(JSONEachRow, {data:String})",
    "SELECT format('{} {}', concat('a', 'b'), 'c')",
    "SELECT * FROM values('a DateTime64(3, \\'UTC\\'), b JSON(x.y Int8, SKIP z)', (now(), 'x'))",
    "SELECT * FROM values((1, toUInt8(1 + 1)))",
    "SELECT * FROM generateRandom('a UInt8 NOT NULL', 1, 10)",
    "SELECT * FROM s3('http://x/{a,b}/*.csv', NOSIGN, CSV, 'a Int8', 'gzip', headers('k' = 'v'))",
    "SELECT * FROM s3('http://x/y(1).csv', 'key', 'secret+/=')",
  ])("but %s", (canonical) => {
    expect(readStatement(canonical).kind).toBe("read");
  });
});

describe("the format of object storage is certain, and holds no expressions", () => {
  test.each([
    "SELECT * FROM s3('http://x/y')",
    "SELECT * FROM s3('http://x/y.values')",
    "SELECT * FROM s3('http://x/y.Values.gz')",
    "SELECT * FROM s3('http://x/y.{csv,values}')",
    "SELECT * FROM s3('http://x/y.values?z=.csv')",
    "SELECT * FROM s3('http://x/y', 'values')",
    "SELECT * FROM s3('http://x/y', 'key', 'CSV')",
    "SELECT * FROM s3('http://x/y', NOSIGN, 'auto')",
    "SELECT * FROM s3('http://x/y', format = Values)",
    "SELECT * FROM azureBlobStorage('connection', 'CSV', 'y.values')",
    "CREATE TABLE t (`a` String) ENGINE = S3('http://x/y', 'Values')",
    "CREATE TABLE t (`a` String) ENGINE = S3('http://x/y')",
  ])("%s", refused);
  test.each([
    "SELECT * FROM s3('http://x/*.csv.gz')",
    "SELECT * FROM s3('http://x/y.parquet', 'key', 'secret')",
    "SELECT * FROM s3('http://x/y', 'CSV')",
    "SELECT * FROM gcs('http://x/y', NOSIGN, 'tsv', 'a String')",
    "SELECT * FROM s3('http://x/y', 'key', 'secret', 'JSONEachRow')",
    "SELECT * FROM s3('http://x/y', 'key', 'secret', 'token', 'JSONEachRow', 'a String')",
    "SELECT * FROM s3('http://x/y', NOSIGN, format = CSV)",
    "SELECT * FROM azureBlobStorage('connection', 'container', 'y', 'name', 'key', 'CSV')",
    "SELECT * FROM azureBlobStorage('connection', 'container', 'y.json')",
    "SELECT * FROM deltaLake('http://x/y')",
    "CREATE TABLE t (`a` String) ENGINE = S3('http://x/y', 'CSV')",
    "CREATE TABLE t (`a` String) ENGINE = S3('http://x/{_partition_id}.parquet') PARTITION BY a",
  ])("but %s", (canonical) => {
    expect([...readStatement(canonical).addresses]).toHaveLength(1);
  });
});

describe("dictionaries read this service only", () => {
  const dictionary = (source: string) =>
    `CREATE DICTIONARY d (\`k\` UInt64, \`v\` String EXPRESSION upper(v)) PRIMARY KEY k SOURCE(${source}) LIFETIME(MIN 0 MAX 0) LAYOUT(FLAT())`;
  test.each([
    "EXECUTABLE(COMMAND 'id' FORMAT 'CSV')",
    "`EXECUTABLE`(COMMAND 'id' FORMAT 'CSV')",
    "FILE(PATH 'x' FORMAT 'CSV')",
    "HTTP(URL 'http://x' FORMAT 'CSV')",
    "CLICKHOUSE(HOST '127.0.0.2' TABLE t)",
    "CLICKHOUSE(NAME collection)",
    "CLICKHOUSE(USER 'millrace-internal' TABLE t)",
    "CLICKHOUSE(TABLE t UPDATE_FIELD 'x) UNION ALL SELECT 1')",
    "CLICKHOUSE(TABLE concat('a', 'b'))",
  ])("not %s", (source) => refused(dictionary(source)));

  test("texts of queries are left to be judged", () => {
    const source = "CLICKHOUSE(DB d TABLE t WHERE 'a > 1' INVALIDATE_QUERY 'SELECT 2' UPDATE_FIELD f)";
    expect(readStatement(dictionary(source)).nested).toEqual(["SELECT 1 FROM t WHERE a > 1", "SELECT 2"]);
    expect(readStatement(dictionary("CLICKHOUSE(QUERY 'SELECT file(1)')")).nested).toEqual(["SELECT file(1)"]);
  });
  test("no layout writes to a path", () => {
    refused(dictionary("NULL()").replace("FLAT()", "SSD_CACHE(PATH 'x')"));
    refused(dictionary("NULL()").replace("upper(v)", "file(v)"));
  });
});

describe("names of functions in other places are names", () => {
  test.each([
    "CREATE TABLE file (`file` Int8) ENGINE = MergeTree ORDER BY file",
    "CREATE TABLE `values` (`a` Int8) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO file (a) FORMAT Values",
    "INSERT INTO OUTFILE FORMAT Values",
    "WITH file AS (SELECT 1 AS x) SELECT file.x FROM file",
    "WITH RECURSIVE file(a, b) AS (SELECT 1, 2) SELECT * FROM file",
    "SELECT * FROM (SELECT 1) AS file(a)",
    "SELECT file, count() FROM t AS executable GROUP BY file",
    "SELECT upper(file) FROM t",
    "SELECT arrayMap(x -> (x + url), a) FROM t",
    "ALTER TABLE t (ADD PROJECTION file (SELECT a)), (ADD INDEX file a TYPE minmax GRANULARITY 1)",
    "SELECT 'open file(x) DEFAULT'",
    "SELECT x.file FROM s3.file AS x",
  ])("%s", (canonical) => {
    expect(() => readStatement(canonical)).not.toThrow();
  });
});

describe("kinds", () => {
  test.each([
    ["SELECT 1", "read", true],
    ["(SELECT 1) UNION ALL (SELECT 2)", "read", true],
    ["WITH 1 AS a SELECT a", "read", true],
    ["SHOW TABLES", "read", true],
    ["DESCRIBE TABLE t", "read", true],
    ["EXPLAIN SELECT 1", "read", true],
    ["EXPLAIN INSERT INTO t FORMAT Values", "read", false],
    ["EXISTS TABLE t", "read", true],
    ["CHECK TABLE t", "read", true],
    ["USE d", "set", true],
    ["SET max_threads = 1", "set", true],
    ["KILL QUERY WHERE 1 ASYNC", "kill", true],
    ["KILL MUTATION WHERE 1 ASYNC", "kill", false],
    ["INSERT INTO t FORMAT CSV", "insert", false],
    ["CREATE TEMPORARY TABLE t (`a` Int8) ENGINE = Memory", "define", false],
    ["OPTIMIZE TABLE t FINAL", "change", false],
    ["SYSTEM STOP MERGES t", "system", false],
  ])("%s is %s", (canonical, kind, readOnly) => {
    expect(readStatement(canonical)).toMatchObject({ kind, readOnly });
  });
});

test("functions of users, lambdas and combinators", () => {
  expect([...readStatement("SELECT own(1), d.v(2), sumIf(a, b), quantileArrayIf(0.5)(a, b) FROM t").unknown]).toEqual([
    "own",
    "v",
  ]);
  expect(readStatement("WITH (x -> (x + 1)) AS inc SELECT inc(1)").unknown.size).toBe(0);
});

test("parameters of type Identifier are kept where they could name a function", () => {
  expect([
    ...readStatement("SELECT arrayMap({f:Identifier}, {a:Array(String)}), upper({c:Identifier}) FROM {t:Identifier}")
      .identifiers,
  ]).toEqual(["f"]);
});

test("256 KiB are read in less than a turn of 50 ms", async () => {
  const part = "arrayMap(x -> concat(x, 'it\\'s', `a b`), [1, 2.5, {p:Array(String)}]), ";
  const text = `SELECT ${part.repeat(Math.floor(262_000 / part.length))}1`;
  readStatement(text);
  // 25 ms on an idle machine.
  expect(await cpuMs(() => readStatement(text))).toBeLessThan(150);
});
