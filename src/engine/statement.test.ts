import { describe, expect, test } from "vitest";
import { readInsert, readStatement, withClientQueryIds } from "./statement.ts";

describe("inserts", () => {
  test.each([
    ["INSERT INTO t FORMAT CSV\n1,2", "INSERT INTO t ", "", "CSV", "1,2"],
    ["insert into db.`a b` (x, `y`) values (1)", "insert into db.`a b` (x, `y`) ", "", "Values", " (1)"],
    ["INSERT INTO t SETTINGS a = 1 FORMAT TSV\r\n1", "INSERT INTO t ", "SETTINGS a = 1 ", "TSV", "1"],
    ["INSERT INTO FUNCTION s3('x', 'CSV') FORMAT CSV \t1", "INSERT INTO FUNCTION s3('x', 'CSV') ", "", "CSV", "1"],
    ["INSERT INTO TABLE format (format) FORMAT CSV\n\n1", "INSERT INTO TABLE format (format) ", "", "CSV", "\n1"],
    ["/* VALUES */ INSERT t VALUES('FORMAT')", "/* VALUES */ INSERT t ", "", "Values", "('FORMAT')"],
  ])("%s", (text, target, settings, format, data) => {
    const found = readInsert(text, true);
    if (found === undefined || found === "incomplete") throw new Error(`not an insert: ${found}`);
    expect([found.target, found.settings, found.format, text.slice(found.dataStart)]).toEqual([
      target,
      settings,
      format,
      data,
    ]);
  });
  test.each([
    ["INSERT INTO t SELECT a FROM input('a Int8') FORMAT CSV\n1", "input('a Int8')", "a Int8", "1"],
    [
      "INSERT INTO t (b) SELECT format FROM (SELECT * FROM Input ( 'x' )) SETTINGS a = 1 FORMAT TSV 1",
      "Input ( 'x' )",
      "x",
      "1",
    ],
    [
      "INSERT INTO t WITH 1 AS y SELECT a, y FROM input('a String') FORMAT CSV\n'",
      "input('a String')",
      "a String",
      "'",
    ],
  ])("input: %s", (text, call, structure, data) => {
    const found = readInsert(text, true);
    if (found === undefined || found === "incomplete" || !found.input) throw new Error(`no input: ${found}`);
    const { start, end } = found.input;
    expect([found.target.slice(start, end), found.input.structure, text.slice(found.dataStart)]).toEqual([
      call,
      structure,
      data,
    ]);
  });
  test.each([
    "INSERT INTO t SELECT * FROM input(x)",
    "INSERT INTO t SELECT * FROM input('a Int8') JOIN input('b Int8')",
  ])("refused: %s", (text) => expect(() => readInsert(`${text} FORMAT CSV 1`, true)).toThrow(/input/));
  test.each([
    "SELECT 1",
    "INSERT INTO t SELECT 1",
    "INSERT INTO t SELECT input(1) FROM u; SELECT 2",
    "INSERT INTO t (a) WITH 1 AS x SELECT x",
    "INSERT INTO t (SELECT 1)",
  ])("no data in: %s", (text) => expect([undefined, "incomplete"]).toContain(readInsert(text, true)));
  test.each([
    "",
    "INSERT INTO",
    "INSERT INTO t (a, b",
    "INSERT INTO t FORMAT",
    "INSERT INTO t FORMAT JSONEach",
    "INSERT INTO t VALUES",
  ])("more is needed after: %s", (text) => expect(readInsert(text, false)).toBe("incomplete"));
});

describe("statements", () => {
  test.each([
    ["SELECT 1", "SELECT 1", "", undefined],
    ["SELECT 1 FORMAT JSON", "SELECT 1 ", "FORMAT JSON", "JSON"],
    ["SELECT 1 FORMAT CSV SETTINGS a = 1;", "SELECT 1 ", "FORMAT CSV SETTINGS a = 1", "CSV"],
    ["SELECT format FROM t ORDER BY format DESC", "SELECT format FROM t ORDER BY format DESC", "", undefined],
    ["SELECT a AS format -- x", "SELECT a AS format", "", undefined],
    ["SELECT (SELECT 1 FORMAT x)", "SELECT (SELECT 1 FORMAT x)", "", undefined],
  ])("%s", (text, before, after, format) => {
    expect(readStatement(text)).toEqual({ kind: "select", before, after, format });
  });
  test("one statement at a time", () => {
    expect(() => readStatement("SELECT 1; DROP TABLE t")).toThrow(/multi-statements/);
    expect(() => readStatement(" -- nothing")).toThrow(/empty query/);
    expect(readStatement("SHOW TABLES;;")).toMatchObject({ kind: "other", text: "SHOW TABLES", verb: "SHOW" });
  });
  test("query ids of clients", () => {
    expect(withClientQueryIds("KILL QUERY WHERE query_id = 'query_id'", "X")).toBe("KILL QUERY WHERE (X) = 'query_id'");
    expect(withClientQueryIds("SELECT 'system.processes', query_id", "X")).toBe("SELECT 'system.processes', query_id");
    expect(withClientQueryIds("SELECT 1 FROM system.processes p", "X")).toContain("FROM system.processes) p");
  });
});
