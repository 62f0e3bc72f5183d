/** The guard of SQL expressions: what it writes again, and what it refuses. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foreignText } from "../../../harness/sql/sql-check.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { FilterError } from "../filter/syntax.ts";
import { emitExpression } from "./emit.ts";
import { allowedFunctions } from "./functions.ts";

const schema = tableSchema("d", "t", [
  { name: "a", type: "UInt64" },
  { name: "s", type: "String" },
  { name: "m", type: "Map(String, String)" },
  { name: "t", type: "DateTime" },
  { name: "xs", type: "Array(UInt64)" },
  { name: "j", type: "JSON" },
  { name: "p", type: "Tuple(x UInt8, y String)" },
  { name: "n.name", type: "Array(String)" },
]);

const emit = (text: string) => emitExpression(text, schema, new Params()).sql;

describe("what is written again", () => {
  test.each([
    ["a", "`a`"],
    ["a+1*2", "(`a` + (1 * 2))"],
    ["-a - -1", "(negate(`a`) - negate(1))"],
    ["NOT a = 1 AND s LIKE 'x%' OR a IS NULL", "((not((`a` = 1)) AND (`s` LIKE {p0:String})) OR isNull(`a`))"],
    ["a NOT IN (1, 2)", "(`a` NOT IN (1, 2))"],
    ["a NOT BETWEEN 1 AND 2 AND a > 0", "((`a` NOT BETWEEN 1 AND 2) AND (`a` > 0))"],
    ["m['k']", "`m`[{p0:String}]"],
    ["m.some.key", "`m`[{p0:String}]"],
    ["j.a.b", "`j`.`a`.`b`"],
    ["p.y", "tupleElement(`p`, {p0:String})"],
    ["p.1", "tupleElement(`p`, 1)"],
    ["s.a", "JSONExtract(`s`, {p0:String}, 'Nullable(String)')"],
    ["xs[1] == 2", "(arrayElement(`xs`, 1) = 2)"],
    ["`n.name`[1]", "arrayElement(`n.name`, 1)"],
    ["LOWER(s)", "lower(`s`)"],
    ["a::String || 'x'", "(CAST(`a` AS String) || {p0:String})"],
    ["cast(a as Nullable(Decimal(10, 2)))", "CAST(`a` AS Nullable(Decimal(10, 2)))"],
    ["arrayExists((x, y) -> x > y, xs, xs)", "arrayExists((x, y) -> ((x > y)), `xs`, `xs`)"],
    ["t > now() - INTERVAL 1 DAY", "(`t` > (now() - toIntervalDay(1)))"],
    ["CASE a WHEN 1 THEN 'x' END", "caseWithExpression(`a`, 1, {p0:String}, NULL)"],
    ["CASE WHEN a = 1 THEN 'x' END", "multiIf((`a` = 1), {p0:String}, NULL)"],
    [
      "a = 1 OR a = 2 OR a = 3 AND s = '' AND a",
      "((`a` = 1) OR (`a` = 2) OR ((`a` = 3) AND (`s` = {p0:String}) AND `a`))",
    ],
    ["(a BETWEEN 1 AND 2) BETWEEN 0 AND 1", "((`a` BETWEEN 1 AND 2) BETWEEN 0 AND 1)"],
    ["a ? s : 'b'", "if(`a`, `s`, {p0:String})"],
    ["s = 'it''s' -- comment", "(`s` = {p0:String})"],
  ])("%s", (text, sql) => {
    expect(emit(text)).toBe(sql);
  });
});

describe("what is refused", () => {
  test.each([
    "(SELECT 1)",
    "a IN (SELECT 1)",
    "a IN t2",
    "a IN (b)",
    "a IN (s)",
    "exists(SELECT 1)",
    "a = (WITH 1 AS x SELECT x)",
    "file('/etc/passwd')",
    "url('http://x')",
    "dictGet('d', 'x', 1)",
    "joinGet('t', 'x', 1)",
    "sleep(3)",
    "sleepEachRow(1)",
    "throwIf(1)",
    "hostName()",
    "getSetting('x')",
    "currentUser()",
    "getMacro('x')",
    "initializeAggregation('sum', 1)",
    "arrayReduce('sum', xs)",
    "count()",
    "sum(a)",
    "sum(a) OVER ()",
    "row_number() OVER ()",
    "in(a, t2)",
    "rand()",
    "system.tables",
    "other.a",
    "*",
    "a.*",
    "COLUMNS('a')",
    "a AS b",
    "a SETTINGS max_threads = 1",
    "a FORMAT CSV",
    "a; SELECT 1",
    "a, s",
    "a UNION ALL SELECT 1",
    "x -> x",
    "xs[x -> 1]",
    "{p:String}",
    "a = 'x",
    "/* a",
    "$$x$$ /*",
    "CAST(a AS AggregateFunction(sum, UInt64))",
    "CAST(a, 'Nested(x String)')",
    "CAST(a, concat('Str', 'ing'))",
    "a::JSON(max=1)",
    "",
    "  ",
    "a a",
    "a +",
    "(a",
    "a)",
    "1abc",
    "a..b",
    "@@version",
    "a @> b",
    "a -> 1",
    "INTERVAL 'x' DAY FROM",
    "repeat(s, 1000000000)",
    "arrayMap(x -> (SELECT x), xs)",
    "materialize((SELECT 1))",
    "formatRow('CSV', a)",
    "catboostEvaluate('x', a)",
  ])("%s", (text) => {
    expect(() => emit(text)).toThrow(FilterError);
  });

  test("depth and length are bounded, and deep input is not a stack overflow", () => {
    for (const text of [
      "(".repeat(30_000),
      "-".repeat(16_000) + "a",
      "a[".repeat(9000),
      "a?".repeat(9000),
      `a${"+a".repeat(9000)}`,
    ]) {
      expect(() => emit(text), text.slice(0, 20)).toThrow(FilterError);
    }
  });
});

test("any tokens are refused or written again without a character of the caller's", () => {
  const parts = [
    "a",
    "s",
    "m",
    "xs",
    "j.q",
    "p.x",
    "'text'",
    "'; DROP'",
    "1",
    "2.5e3",
    "0x1F",
    "NULL",
    "true",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "!=",
    "<",
    ">=",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "IS",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST(",
    "AS",
    "String",
    "::",
    "->",
    "x",
    "lower(",
    "if(",
    "now()",
    "INTERVAL",
    "DAY",
    "?",
    ":",
    "SELECT",
    "FROM",
    "file(",
    "--",
    "/*",
    "*/",
    "`",
    '"',
    "\\",
    ";",
    "SETTINGS",
    "{p0:String}",
    "$$",
    "@",
    "#",
    "é",
    "arrayMap(",
  ];
  const functions = new Set([
    ...allowedFunctions(),
    "toIntervalDay",
    "toIntervalHour",
    "toIntervalSecond",
    "multiIf",
    "caseWithExpression",
    "NULL",
    "BETWEEN",
    "x",
    "DAY",
  ]);
  let written = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 9 }), (tokens) => {
      try {
        const sql = emit(tokens.join(" "));
        written += 1;
        expect(foreignText(sql, schema, functions)).toEqual([]);
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
      }
    }),
    { numRuns: 5000, seed: 3 },
  );
  expect(written).toBeGreaterThan(50);
});
