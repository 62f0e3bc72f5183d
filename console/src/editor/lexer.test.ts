import { expect, test } from "vitest";
import { parametersIn, statementAt, statementsIn } from "./lexer.ts";

function texts(sql: string): string[] {
  return statementsIn(sql).map(({ from, to }) => sql.slice(from, to));
}

test("semicolons in quotes and comments separate nothing", () => {
  expect(texts("SELECT ';' -- ;\n, 1; /* ; */ ;SELECT `a;b`, \"c;\"")).toEqual([
    "SELECT ';' -- ;\n, 1",
    'SELECT `a;b`, "c;"',
  ]);
  expect(texts("SELECT 'it''s; \\'; ' ; SELECT 2")).toEqual(["SELECT 'it''s; \\'; '", "SELECT 2"]);
  expect(texts('SELECT "a"";b", `c``;d`; SELECT /* open ; 2')).toEqual([
    'SELECT "a"";b", `c``;d`',
    "SELECT /* open ; 2",
  ]);
  expect(texts(" ;; -- nothing\n")).toEqual([]);
  expect(texts("SELECT 'open; SELECT 2")).toEqual(["SELECT 'open; SELECT 2"]);
});

test("a comment before a statement is not part of it", () => {
  expect(texts("-- first\nSELECT 1; /* second */ SELECT 2")).toEqual(["SELECT 1", "SELECT 2"]);
});

test("the statement at the cursor is the one around it or directly before it", () => {
  const sql = "SELECT 1; SELECT 2;\nSELECT 3";
  const at = (position: number) => {
    const span = statementAt(sql, position);
    return span && sql.slice(span.from, span.to);
  };
  expect([0, 9, 12, 19, 24, 28].map(at)).toEqual([
    "SELECT 1",
    "SELECT 1",
    "SELECT 2",
    "SELECT 2",
    "SELECT 3",
    "SELECT 3",
  ]);
  expect(statementAt(" ", 0)).toBeUndefined();
});

test("parameters are found once, and not in quotes or maps", () => {
  expect(parametersIn("SELECT {a:UInt8}, {b : Array(String)}, {a:UInt8}, '{c:Int8}' -- {d:Int8}")).toEqual([
    { name: "a", type: "UInt8" },
    { name: "b", type: "Array(String)" },
  ]);
  expect(parametersIn("SELECT {'a': 1}, {t:Identifier}")).toEqual([{ name: "t", type: "Identifier" }]);
});
