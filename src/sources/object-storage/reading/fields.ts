/**
 * The mapping of a pipe as SQL: the structure with which the engine reads files, and one expression per destination
 * column. The types are the destination's own, so that the engine's parser converts and our code touches no row.
 */
import { identifier } from "../../../clickhouse/sql.ts";
import type { DestinationColumn } from "../../contract/source.ts";
import { convertedTo, type IntegerReading, readColumn } from "../../messages/integers.ts";
import { columnValue, conflictingPaths, type Declared, distinct, planPaths } from "../../messages/paths.ts";
import { isPositional, type ObjectFormat } from "./formats.ts";

export type FieldPlan = {
  /** Column declarations for the table function. */
  readonly structure: string;
  /** One expression per destination column, in order. */
  readonly expressions: readonly string[];
  /** The top-level fields that are read from the file. */
  readonly fields: readonly string[];
  /** Conditions that single integers fit their columns, and the expressions for rows that fulfil them. */
  readonly fitting: readonly string[];
  readonly fittingExpressions: readonly string[];
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
export function fieldPlan(
  columns: readonly DestinationColumn[],
  format: ObjectFormat,
  integers: IntegerReading,
  size?: string,
): FieldPlan {
  const read = columns.filter((column) => !isVirtual(column.sourceField));
  const expressionOf = new Map<DestinationColumn, string>();
  for (const column of columns.filter((candidate) => isVirtual(candidate.sourceField))) {
    const known = column.sourceField === "_size" ? size : undefined;
    const value = known ?? (virtualColumns[column.sourceField] as string);
    expressionOf.set(column, convertedTo(column.type, value, integers));
  }
  const structure = planFields(read, format, expressionOf, integers);
  const fits = new Map(read.map((column) => [column, fittingOf(column, expressionOf.get(column), integers)]));
  return {
    structure: structure.map(({ name, type }) => `${identifier(name)} ${type}`).join(", "),
    expressions: columns.map((column) => expressionOf.get(column) as string),
    fields: structure.map(({ name }) => name),
    fitting: [...fits.values()].flatMap((found) => found?.condition ?? []),
    fittingExpressions: columns.map((column) => fits.get(column)?.value ?? (expressionOf.get(column) as string)),
  };
}

/** What fits a column whose expression is a checked conversion of a field. */
function fittingOf({ type }: DestinationColumn, expression: string | undefined, integers: IntegerReading) {
  const { fitting } = readColumn(type, integers);
  const field = /^accurateCast\((.*), '[^']*'\)$/s.exec(expression ?? "")?.[1];
  return fitting === undefined || field === undefined
    ? undefined
    : { condition: fitting.condition(field), value: fitting.value(field) };
}

function planFields(
  read: readonly DestinationColumn[],
  format: ObjectFormat,
  expressionOf: Map<DestinationColumn, string>,
  integers: IntegerReading,
): Declared[] {
  // A file without wanted fields still has rows; the engine needs one column to count them.
  if (read.length === 0) return [{ name: "c1", type: "String" }];
  if (format === "JSONAsObject") {
    for (const column of read) expressionOf.set(column, "json");
    return [{ name: "json", type: "JSON" }];
  }
  if (isPositional(format)) return planPositions(read, expressionOf, integers);
  if (format.startsWith("CSV") || format.startsWith("TabSeparated")) {
    return distinct(read, expressionOf, (column) => column.sourceField, integers);
  }
  return planPaths(read, expressionOf, integers);
}

/** `c1`, `c2` ... name positions; otherwise the mappings have the order of the file's columns. */
function planPositions(
  read: readonly DestinationColumn[],
  expressionOf: Map<DestinationColumn, string>,
  integers: IntegerReading,
): Declared[] {
  const numbered = read.every((column) => /^c[1-9]\d{0,4}$/.test(column.sourceField));
  const at = new Map<number, DestinationColumn[]>();
  for (const [index, column] of read.entries()) {
    const position = numbered ? Number(column.sourceField.slice(1)) : index + 1;
    at.set(position, [...(at.get(position) ?? []), column]);
  }
  return Array.from({ length: Math.max(...at.keys()) }, (_, index) => {
    const [first, ...others] = at.get(index + 1) ?? [];
    const name = `c${index + 1}`;
    if (first === undefined) return { name, type: "String" };
    for (const column of [first, ...others]) {
      expressionOf.set(column, columnValue(column, first.type, identifier(name), integers));
    }
    return { name, type: readColumn(first.type, integers).declared };
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
