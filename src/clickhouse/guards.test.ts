import { describe, expect, test } from "vitest";
import { columnTypeProblem, tableExpressionProblem } from "./guard.ts";

describe("column types from callers", () => {
  test.each([
    "String",
    "DateTime64(3, 'UTC')",
    "Nullable(Decimal(18, 4))",
    "Map(LowCardinality(String), Array(Tuple(a UInt8, `b c` String)))",
    "Enum8('a' = 1, 'b' = -2)",
    "Nested(x UInt8, y String)",
    "AggregateFunction(sum, UInt64)",
  ])("%s is a type", (text) => expect(columnTypeProblem(text)).toBeUndefined());

  test.each([
    "",
    "String DEFAULT file('/etc/passwd')",
    "String) ENGINE = Null --",
    "String, b String",
    "String CODEC(NONE)",
    "Array(String",
    "(SELECT 1)",
    "UInt8; DROP TABLE t",
    "DateTime64(now())x",
    `${"Array(".repeat(100)}String${")".repeat(100)}`,
  ])("%s is refused", (text) => expect(columnTypeProblem(text)).toBeTypeOf("string"));
});

describe("key expressions from callers", () => {
  const columns = new Set(["date", "a b"]);
  test.each(["toYYYYMM(date)", "(date, cityHash64(`a b`) % 16)", "tuple()", "date"])("%s is permitted", (text) =>
    expect(tableExpressionProblem(text, columns)).toBeUndefined(),
  );
  test.each([
    "(SELECT 1)",
    "file('/etc/passwd')",
    "date) SETTINGS x = 1",
    "dictGet('d', 'a', date)",
    "other",
    "date; DROP TABLE t",
    "date ORDER BY date",
    "'a",
    "",
  ])("%s is refused", (text) => expect(tableExpressionProblem(text, columns)).toBeTypeOf("string"));
});
