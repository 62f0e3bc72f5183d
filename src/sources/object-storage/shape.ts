/** The mapping in the engine's terms: how a format is read, and an expression for every destination column. */
import { identifier } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import type { DestinationTable } from "../source.ts";
import type { ObjectFormat } from "./format.ts";

export type Shape = {
  /** The engine's format name. */
  readonly format: string;
  readonly structure: string;
  readonly expressions: readonly string[];
};

type Column = DestinationTable["columns"][number];
type Members = Map<string, string | Members>;

const virtualColumns = new Set(["_path", "_file", "_size", "_time", "_etag"]);

/** Text formats without a header: fields have positions, not names. */
const headless = new Set<ObjectFormat>(["CSV", "TabSeparated"]);
/** Formats whose fields may have members. In the others a dot is part of the field's name. */
const nested = new Set<ObjectFormat>(["JSONEachRow", "Parquet", "Avro", "ORC", "Arrow"]);

/** Throws AppError SOURCE_INVALID when the mapping cannot be read from the format. */
export function readShape(format: ObjectFormat, columns: readonly Column[]): Shape {
  const fields = columns.filter((column) => !virtualColumns.has(column.sourceField));
  const pathOf = (column: Column) => (nested.has(format) ? column.sourceField.split(".") : [column.sourceField]);
  const expressions = columns.map((column) => {
    const source = virtualColumns.has(column.sourceField) ? [column.sourceField] : pathOf(column);
    return `CAST(${source.map(identifier).join(".")} AS ${column.type})`;
  });
  if (format === "JSONAsObject") return wholeObject(fields, expressions);
  if (headless.has(format)) return { format, structure: positions(fields), expressions };
  const members: Members = new Map();
  for (const column of fields) declare(members, pathOf(column), column);
  return { format, structure: structureText(members), expressions };
}

/** The object as a whole goes into the one column that is not virtual, as JSON or as its text. */
function wholeObject(fields: readonly Column[], expressions: readonly string[]): Shape {
  const [field] = fields;
  if (field === undefined || fields.length > 1) {
    const names = fields.map(({ name }) => name).join(", ");
    throw invalid(`JSONAsObject fills exactly one column besides virtual ones; there are ${fields.length}: ${names}`);
  }
  const asText = /^(Nullable\(|LowCardinality\()*String/.test(field.type);
  const structure = `${identifier(field.sourceField)} ${asText ? "String" : field.type}`;
  return { format: asText ? "JSONAsString" : "JSONAsObject", structure, expressions };
}

/** Fields called c1, c2 ... are meant by position, and unnamed ones between are skipped; others count as they come. */
function positions(fields: readonly Column[]): string {
  const numbers = fields.map(({ sourceField }) => Number(/^c([1-9]\d{0,3})$/.exec(sourceField)?.[1]));
  if (numbers.some(Number.isNaN)) return list(fields.map(({ sourceField, type }) => [sourceField, type]));
  const types = new Map(fields.map(({ type }, index) => [numbers[index], type]));
  const width = Math.max(0, ...numbers);
  return list(Array.from({ length: width }, (_, index) => [`c${index + 1}`, types.get(index + 1) ?? "String"]));
}

function list(fields: readonly (readonly [name: string, type: string])[]): string {
  const unique = new Map<string, string>();
  for (const [name, type] of fields) if (!unique.has(name)) unique.set(name, type);
  return [...unique].map(([name, type]) => `${identifier(name)} ${type}`).join(", ");
}

/** Every field has the type of its column; a field with members is a named tuple of those that are mapped. */
function declare(members: Members, path: readonly string[], column: Column): void {
  const [name = "", ...rest] = path;
  const known = members.get(name);
  if (rest.length === 0) {
    if (known instanceof Map) throw bothWays(column);
    if (known === undefined) members.set(name, column.type);
    return;
  }
  if (typeof known === "string") throw bothWays(column);
  const inner: Members = known ?? new Map();
  members.set(name, inner);
  declare(inner, rest, column);
}

function bothWays({ sourceField }: Column): AppError {
  return invalid(`a field and one of its members cannot both be mapped: ${sourceField}`);
}

function invalid(message: string): AppError {
  return new AppError("SOURCE_INVALID", message, { issues: [{ path: "fieldMappings", message }] });
}

function structureText(members: Members): string {
  return [...members]
    .map(([name, type]) => `${identifier(name)} ${typeof type === "string" ? type : `Tuple(${structureText(type)})`}`)
    .join(", ");
}
