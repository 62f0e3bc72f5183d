import { describe, expect, test } from "vitest";
import type { SourceColumn, SourceType } from "../declaration/durable.ts";
import { columnPlan } from "./types.ts";

function column(type: Partial<SourceType>, more: Partial<SourceColumn> = {}): SourceColumn {
  const full = typeOf(type);
  const { oid: typeOid, name: typeName, typmod } = full;
  const base = { name: "v", attnum: 1, typeOid, typeName, typmod, type: full, dimensions: 0 };
  return { ...base, notNull: false, generated: false, ...more };
}

function typeOf(type: Partial<SourceType>): SourceType {
  return { oid: 1, name: "text", kind: "base", typmod: -1, delimiter: ",", ...type };
}

const plain = { nullable: false, key: false };
const nullable = { nullable: true, key: false };
const typeFor = (type: Partial<SourceType>, options = plain, more: Partial<SourceColumn> = {}) =>
  columnPlan(column(type, more), options).type;
const ints: Partial<SourceType> = { name: "_int4", kind: "array", element: typeOf({ name: "int4" }) };

describe("columnPlan", () => {
  test("only a column that may be NULL becomes Nullable, only when asked, and never in a key", () => {
    expect(typeFor({ name: "int4" })).toBe("Int32");
    expect(typeFor({ name: "int4" }, nullable)).toBe("Nullable(Int32)");
    expect(typeFor({ name: "int4" }, nullable, { notNull: true })).toBe("Int32");
    expect(typeFor({ name: "int4" }, { nullable: true, key: true })).toBe("Int32");
    expect(typeFor({ name: "mood", kind: "enum" }, nullable)).toBe("LowCardinality(Nullable(String))");
    expect(typeFor(ints, nullable, { notNull: true })).toBe("Array(Nullable(Int32))");
  });

  test("numeric by its modifier: negative scales, scales over the precision, too many digits", () => {
    const numeric = (precision: number, scale: number) =>
      typeFor({ name: "numeric", typmod: ((precision << 16) | (scale & 0x7ff)) + 4 });
    expect(numeric(10, 2)).toBe("Decimal(10, 2)");
    expect(numeric(76, 76)).toBe("Decimal(76, 76)");
    expect(numeric(77, 0)).toBe("String");
    expect(numeric(5, -3)).toBe("Decimal(8, 0)");
    expect(numeric(3, 5)).toBe("Decimal(5, 5)");
    expect(numeric(1, 1000)).toBe("String");
    expect(numeric(1000, -1000)).toBe("String");
    expect(typeFor({ name: "numeric" })).toBe("String");
  });

  test("domains are what lies beneath them, also in arrays", () => {
    const amount = typeOf({ name: "public.amount", kind: "domain", base: typeOf({ name: "int8" }) });
    const total = typeOf({ name: "public.total", kind: "domain", base: amount });
    expect(typeFor(total)).toBe("Int64");
    expect(typeFor({ name: "_total", kind: "array", element: total })).toBe("Array(Int64)");
    expect(typeFor({ name: "public.list", kind: "domain", base: typeOf(ints) })).toBe("Array(Int32)");
  });

  test("arrays of several declared dimensions and arrays in keys are text", () => {
    expect(columnPlan(column(ints, { dimensions: 2 }), plain)).toEqual({ name: "v", input: "String", type: "String" });
    expect(columnPlan(column(ints), { nullable: false, key: true }).type).toBe("String");
  });

  test("a type that is not known is its text, also one that has a known name in another schema", () => {
    expect(columnPlan(column({ name: "public.int4" }), plain)).toEqual({ name: "v", input: "String", type: "String" });
    expect(typeFor({ name: "public.geometry" }, nullable)).toBe("Nullable(String)");
  });

  test("names and delimiters of the source cannot end a name or a text in SQL", () => {
    const odd = column({ name: "_t", kind: "array", element: typeOf({ delimiter: "'" }) }, { name: "a`b\\" });
    const { expression } = columnPlan(odd, plain);
    expect(expression).toContain("`a\\`b\\\\`");
    expect(expression).toContain("\\'");
  });
});
