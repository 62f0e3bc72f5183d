import { describe, expect, test } from "vitest";
import { isNumeric, parseType } from "./types.ts";

describe("column types", () => {
  test("wrappers are taken off, nullability is kept", () => {
    expect(parseType("LowCardinality(Nullable(String))")).toMatchObject({ family: "text", nullable: true });
    expect(parseType("SimpleAggregateFunction(sum, UInt64)")).toMatchObject({ family: "integer", size: 64 });
    expect(parseType("Nullable(Decimal(18, 4))")).toMatchObject({ family: "decimal", size: 4, nullable: true });
  });
  test("containers keep their element types and names", () => {
    const map = parseType("Map(LowCardinality(String), Array(Nullable(Float64)))");
    expect(map.items.map((item) => item.family)).toEqual(["text", "array"]);
    expect(map.items[1]?.items[0]).toMatchObject({ family: "float", nullable: true });
    const tuple = parseType("Tuple(a String, `b c` UInt8)");
    expect(tuple).toMatchObject({ family: "tuple", names: ["a", "b c"] });
    expect(parseType("Tuple(String, UInt8)").names).toEqual([]);
  });
  test("quotes, commas and parentheses inside arguments do not split them", () => {
    expect(parseType("Map(Enum8('a,(' = 1, 'it\\'s' = 2), DateTime64(9, 'UTC'))").items).toMatchObject([
      { family: "enum" },
      { family: "dateTime", size: 9 },
    ]);
    expect(parseType("AggregateFunction(quantiles(0.5, 0.9), UInt64)").family).toBe("aggregate");
  });
  test("unknown types are kept as `other`, never an exception", () => {
    for (const text of ["", "Point", "Weird(", ")(", "Array"]) expect(() => parseType(text), text).not.toThrow();
    expect(parseType("Point").family).toBe("other");
  });
  test("what is nested deeper than 32 levels is `other`, so that the time stays linear", () => {
    const nested = (levels: number) => `${"Array(".repeat(levels)}UInt8${")".repeat(levels)}`;
    const innermost = (text: string) => {
      let type = parseType(text);
      while (type.items[0] !== undefined) type = type.items[0];
      return type.family;
    };
    expect(innermost(nested(32))).toBe("integer");
    expect(innermost(nested(500))).toBe("other");
  });
  test("only numbers are numeric", () => {
    expect(["UInt8", "Int256", "Float32", "Decimal64(3)"].every((text) => isNumeric(parseType(text)))).toBe(true);
    expect(["String", "Bool", "Date", "UUID"].some((text) => isNumeric(parseType(text)))).toBe(false);
  });
});
