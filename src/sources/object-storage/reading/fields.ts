/**
 * The mapping of a pipe as SQL: the structure with which the engine reads files, and one expression per destination
 * column. The types are the destination's own, so that the engine's parser converts and our code touches no row.
 */
import { identifier, literal } from "../../../clickhouse/sql.ts";
import { conflictingPaths, type Declared, distinct, planPaths } from "../../messages/paths.ts";
import type { DestinationColumn } from "../../source.ts";
import { isPositional, type ObjectFormat } from "./formats.ts";

export type FieldPlan = {
  /** Column declarations for the table function. */
  readonly structure: string;
  /** One expression per destination column, in order. */
  readonly expressions: readonly string[];
  /** The top-level fields that are read from the file. */
  readonly fields: readonly string[];
};

/** Columns with facts of the store about an object, not of the file itself. */
const virtualColumns: Readonly<Record<string, string>> = {
  _path: "toString(_path)",
  _file: "toString(_file)",
  _size: "assumeNotNull(_size)",
  _time: "assumeNotNull(_time)",
  _etag: "toString(assumeNotNull(_etag))",
};

export function isVirtual(sourceField: string): boolean {
  return Object.hasOwn(virtualColumns, sourceField);
}

/** `size`: the value of `_size` when the engine reads something else than the object itself. */
export function fieldPlan(columns: readonly DestinationColumn[], format: ObjectFormat, size?: string): FieldPlan {
  const read = columns.filter((column) => !isVirtual(column.sourceField));
  const expressionOf = new Map<DestinationColumn, string>();
  for (const column of columns.filter((candidate) => isVirtual(candidate.sourceField))) {
    const known = column.sourceField === "_size" ? size : undefined;
    expressionOf.set(column, `CAST(${known ?? virtualColumns[column.sourceField]}, ${literal(column.type)})`);
  }
  const structure = planFields(read, format, expressionOf);
  return {
    structure: structure.map(({ name, type }) => `${identifier(name)} ${type}`).join(", "),
    expressions: columns.map((column) => expressionOf.get(column) as string),
    fields: structure.map(({ name }) => name),
  };
}

function planFields(
  read: readonly DestinationColumn[],
  format: ObjectFormat,
  expressionOf: Map<DestinationColumn, string>,
): Declared[] {
  // A file without wanted fields still has rows; the engine needs one column to count them.
  if (read.length === 0) return [{ name: "c1", type: "String" }];
  if (format === "JSONAsObject") {
    for (const column of read) expressionOf.set(column, "json");
    return [{ name: "json", type: "JSON" }];
  }
  if (isPositional(format)) return planPositions(read, expressionOf);
  if (format.startsWith("CSV") || format.startsWith("TabSeparated")) {
    return distinct(read, expressionOf, (column) => column.sourceField);
  }
  return planPaths(read, expressionOf);
}

/** `c1`, `c2` ... name positions; otherwise the mappings have the order of the file's columns. */
function planPositions(read: readonly DestinationColumn[], expressionOf: Map<DestinationColumn, string>): Declared[] {
  const numbered = read.every((column) => /^c[1-9]\d{0,4}$/.test(column.sourceField));
  const at = new Map<number, DestinationColumn[]>();
  for (const [index, column] of read.entries()) {
    const position = numbered ? Number(column.sourceField.slice(1)) : index + 1;
    at.set(position, [...(at.get(position) ?? []), column]);
  }
  return Array.from({ length: Math.max(...at.keys()) }, (_, index) => {
    const [first, ...others] = at.get(index + 1) ?? [];
    const name = `c${index + 1}`;
    if (first !== undefined) expressionOf.set(first, identifier(name));
    for (const other of others) expressionOf.set(other, `CAST(${identifier(name)}, ${literal(other.type)})`);
    return { name, type: first?.type ?? "String" };
  });
}

/**
 * Fields that are mapped as a value and also as the parent of another: the engine can read a field only one way.
 */
export function conflictingFields(columns: readonly DestinationColumn[], format: ObjectFormat): string[] {
  if (isPositional(format) || format === "JSONAsObject" || format.startsWith("CSV") || format.startsWith("Tab")) {
    return [];
  }
  return conflictingPaths(
    columns.filter((column) => !isVirtual(column.sourceField)).map((column) => column.sourceField),
  );
}
