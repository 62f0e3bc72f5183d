import { describe, expect, test } from "vitest";
import { plainFacts } from "./plain-statement.ts";

describe("the short way", () => {
  test.each([
    "SELECT 1",
    "select count(*), sum(if(a > 1, b, 0)) from d.t where x in (1, 2) and y = 'it''s' group by k order by k limit 5;",
    "SELECT upper('file(1) /* */ $a$ {x:String}'), `a b`, \"c\" FROM numbers(10) AS n -- done",
    "SELECT arrayMap(x -> x + 1, [1, 2.5, .5]), CASE WHEN a THEN 1 ELSE 2 END FROM t JOIN u USING (k)",
  ])("takes %s", (text) => {
    expect(plainFacts(text)).toMatchObject({ kind: "read", readOnly: true });
  });
  test.each([
    ["INSERT INTO t FORMAT JSONEachRow", "JSONEachRow"],
    ["insert into table d.`t` (a, n.b) values", "Values"],
    ["INSERT INTO file (a) FORMAT values", "values"],
  ])("takes %s", (text, format) => {
    expect(plainFacts(text)).toMatchObject({ kind: "insert", readOnly: false, format });
  });
  test.each([
    "SELECT file('x')",
    "SELECT arrayMap(file, a)",
    "SELECT file FROM t",
    "SELECT `file` ('x')",
    'SELECT "fi\\x6ce"(1)',
    "SELECT \u201cfile\u201d(1)",
    "SELECT own(1)",
    "SELECT a.upper(1)",
    "SELECT * FROM format(JSONEachRow, 'a String', '{}')",
    "SELECT * FROM s3('http://x')",
    "SELECT * FROM values('a String', 'x')",
    "SELECT hasColumnInTable('h', 't', 'c')",
    "SELECT 1 INTO OUTFILE 'x'",
    "SELECT * APPLY upper FROM t",
    "SELECT 1 SETTINGS max_threads = 1",
    "SELECT 1; SELECT 2",
    "SELECT 1 FORMAT JSON",
    "SELECT * FROM (EXPLAIN SELECT 1)",
    "SELECT {a:String}",
    "SELECT $a$ x $a$",
    "SELECT x'41'",
    "SELECT b'1'",
    "SELECT 1 # comment",
    "SELECT 1 /* /* */ */",
    "SELECT 1abc(2)",
    "SELECT 'open",
    "SELECT a\u00a0(1)",
    "WITH 1 AS a SELECT a",
    "INSERT INTO FUNCTION file('x') VALUES",
    "INSERT INTO TABLE FUNCTION file('x') FORMAT CSV",
    "INSERT INTO t SELECT 1",
    "INSERT INTO t SETTINGS max_threads = 1 FORMAT CSV",
    "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
    "INSERT INTO t (* EXCEPT(a)) VALUES",
    "INSERT INTO t FORMAT CSV x",
    "DROP TABLE t",
    "",
  ])("leaves %s to the long way", (text) => {
    expect(plainFacts(Buffer.from(text).toString("latin1"))).toBeUndefined();
  });
});
