import { expect, test } from "vitest";
import { cellText, compareValues, kindOf, type ValueKind } from "./values.ts";

test("the kind is that of the type below Nullable and LowCardinality", () => {
  expect(
    ["LowCardinality(Nullable(UInt64))", "Decimal(38, 20)", "DateTime64(9, 'UTC')", "Bool", "Map(String, UInt8)"].map(
      kindOf,
    ),
  ).toEqual(["integer", "decimal", "time", "boolean", "composite"]);
  expect(["Enum8('a' = 1)", "DateRange", "IPv4"].map(kindOf)).toEqual(["text", "text", "text"]);
});

function sorted(values: unknown[], kind: ValueKind, descending = false): unknown[] {
  return values.toSorted((a, b) => compareValues(a, b, kind, descending));
}

test("integers beyond 2^53 are ordered by all their digits", () => {
  const values = ["18446744073709551615", "18446744073709551614", 7, "-9223372036854775808"];
  expect(sorted(values, "integer")).toEqual([values[3], 7, values[1], values[0]]);
});

test("decimals are ordered by value, not as text", () => {
  expect(sorted(["10.5", "9.75", "-0.2", "-0.15"], "decimal")).toEqual(["-0.2", "-0.15", "9.75", "10.5"]);
});

test("NULL and NaN come last in both directions", () => {
  expect(sorted([null, "nan", 1, "inf", "-inf"], "float")).toEqual(["-inf", 1, "inf", null, "nan"]);
  expect(sorted([null, 1, 2], "float", true)).toEqual([2, 1, null]);
});

test("a composite value is shown as JSON", () => {
  expect([{ a: [1] }, null, "x", true].map(cellText)).toEqual(['{"a":[1]}', "NULL", "x", "true"]);
});
