/**
 * Integers that do not fit their column. The engine's parsers wrap them around (70000 becomes 112 in a UInt8), and no
 * setting makes them refuse. So integers are read in a wider type and converted with a check. The error of the check
 * names no row: to find the rows, text formats are read once more with `Variant`s, whose parser refuses a value that
 * does not fit like any other bad value, but takes twice the time.
 */
import { identifier, literal } from "../../clickhouse/sql.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";

/**
 * How integers are read. `wide`: with a checked conversion. `wide64`: the same for formats whose integers have up to 64
 * bits and a sign. `each`: as `Variant`s. `wrap`: as the engine does.
 */
export type IntegerReading = "wide" | "wide64" | "each" | "wrap";

export type ReadColumn = {
  /** The type with which the engine reads the field. */
  readonly declared: string;
  /** The value of the column, from the field as read. */
  value(field: string): string;
  /** Single integers have it: the condition that the value fits, and the value of a row where it does. */
  readonly fitting?: { condition(field: string): string; value(field: string): string };
};

export function readColumn(type: string, reading: IntegerReading): ReadColumn {
  const parsed = parseType(type);
  const target = render(parsed, (integer) => integer.name);
  const declared = reading === "wrap" ? target : render(parsed, (integer) => readType(integer, reading));
  // Also without an integer, so that a type that is not rendered back exactly stays as it was written.
  if (declared === target) return { declared: type, value: (field) => field };
  const column = { declared, value: (field: string) => `accurateCast(${field}, ${literal(target)})` };
  if (parsed.family !== "integer") return column;
  const tried = (field: string) => `accurateCastOrNull(${field}, ${literal(target)})`;
  const value = (field: string) => (parsed.nullable ? tried(field) : `assumeNotNull(${tried(field)})`);
  const condition = (field: string) => `(isNull(${field}) OR isNotNull(${tried(field)}))`;
  return { ...column, fitting: { condition, value } };
}

/** A field that was read as another type, converted to the column's type. */
export function convertedTo(type: string, field: string, reading: IntegerReading): string {
  const parsed = parseType(type);
  if (reading === "wrap" || parsed.family !== "integer") return `CAST(${field}, ${literal(type)})`;
  return `accurateCast(${field}, ${literal(render(parsed, (integer) => integer.name))})`;
}

function readType({ name, size }: ColumnType, reading: IntegerReading): string {
  if (reading === "wide64") return size <= 64 ? "Int64" : name;
  if (size <= 64 && reading === "each") return `Variant(${name})`;
  // Parsing 128 bits takes longer. Numbers up to 2^64 that 64 bits wrap around are negative, and fit no UInt.
  if (size <= 32 && name.startsWith("U")) return "Int64";
  if (size <= 64) return "Int128";
  // The parser of larger Variants does not refuse.
  return size === 128 ? "Int256" : name;
}

/** The type with other integers, without wrappers that only concern storage. */
function render(type: ColumnType, integer: (type: ColumnType) => string): string {
  const inner = (item: ColumnType | undefined) => render(item as ColumnType, integer);
  if (type.family === "integer") {
    const name = integer(type);
    return type.nullable && !name.startsWith("Variant") ? `Nullable(${name})` : name;
  }
  if (type.name === "Array") return `Array(${inner(type.items[0])})`;
  if (type.name === "Map") return `Map(${type.items[0]?.text}, ${inner(type.items[1])})`;
  if (type.name === "Tuple" && !type.nullable) {
    const names = type.names.map((name) => `${identifier(name)} `);
    return `Tuple(${type.items.map((item, at) => (names[at] ?? "") + inner(item)).join(", ")})`;
  }
  return type.text;
}
