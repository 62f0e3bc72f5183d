import { describe, expect, test } from "vitest";
import { columnTypeProblem, tableExpressionProblem } from "./guard.ts";

const columns = new Set(["at", "id", "two words"]);

describe("table expressions", () => {
  test.each(["toYYYYMM(at)", "(toStartOfDay(at), id % 16)", "intDiv(id, 1000)", "id", "(`two words`, -id)"])(
    "%s may be used",
    (text) => expect(tableExpressionProblem(text, columns)).toBeUndefined(),
  );
  test.each([
    "",
    "(SELECT 1)",
    "at) SETTINGS x = 1 --",
    "sleep(3)",
    "file('/etc/passwd')",
    "`file`('/etc/passwd')",
    "at ORDER BY id",
    "other",
    "id; DROP TABLE t",
    "id /* a */ AS b",
    "{a:String}",
    "x -> x",
    "('a'",
    "'a'('b')",
    "dictGet('d', 'a', id)",
    "toString(id) -- ",
    "toString(id) -- \n",
    "id # c",
    "id // c",
    "/* c */ id",
    "toString(/* c */ id)",
  ])("%s is refused", (text) => expect(tableExpressionProblem(text, columns)).toBeTypeOf("string"));
});

describe("column types", () => {
  test.each([
    "UInt64",
    "DateTime64(3, 'UTC')",
    "LowCardinality(Nullable(String))",
    "Enum8('a,(' = -1, 'it\\'s' = 2)",
    "Map(String, Array(Tuple(a UInt8, `b c` String)))",
    "JSON(max_dynamic_paths = 10)",
    "AggregateFunction(sum, UInt64)",
    "Decimal(18, 4)",
  ])("%s is a type", (text) => expect(columnTypeProblem(text)).toBeUndefined());
  test.each([
    "",
    "UInt64 DEFAULT (SELECT 1)",
    "UInt64, x UInt8",
    "String) ENGINE = Memory --",
    "Enum8('a' = (SELECT 1))",
    "Array(",
    "Array(String",
    "'String'",
    "String CODEC(NONE)",
    `${"Array(".repeat(40)}String${")".repeat(40)}`,
  ])("%s is refused", (text) => expect(columnTypeProblem(text)).toBeTypeOf("string"));
});
