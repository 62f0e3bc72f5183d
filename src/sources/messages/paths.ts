/**
 * Source fields as SQL: the columns that the engine declares for the fields of a pipe, and one expression per
 * destination column. The types are the destination's own, so that the engine's parser converts.
 */
import { identifier, literal } from "../../clickhouse/sql.ts";
import type { DestinationColumn } from "../contract/source.ts";
import { convertedTo, type IntegerReading, readColumn } from "./integers.ts";

export type Declared = { readonly name: string; readonly type: string };

/** One declaration per field; a second column of the same field is converted from the first. */
export function distinct(
  read: readonly DestinationColumn[],
  expressionOf: Map<DestinationColumn, string>,
  fieldOf: (column: DestinationColumn) => string,
  integers: IntegerReading,
): Declared[] {
  const declared = new Map<string, string>();
  for (const column of read) {
    const field = fieldOf(column);
    const type = declared.get(field) ?? column.type;
    declared.set(field, type);
    expressionOf.set(column, columnValue(column, type, identifier(field), integers));
  }
  return [...declared].map(([name, type]) => ({ name, type: readColumn(type, integers).declared }));
}

/** The column's value from a field that is read as `type`. */
export function columnValue(column: DestinationColumn, type: string, field: string, integers: IntegerReading): string {
  return type === column.type ? readColumn(type, integers).value(field) : convertedTo(column.type, field, integers);
}

type PathNode = { type: string | undefined; readonly members: Map<string, PathNode> };

/** Dotted paths become tuples with only the wanted members. `a\.b` is a field whose name has a dot. */
export function planPaths(
  read: readonly DestinationColumn[],
  expressionOf: Map<DestinationColumn, string>,
  integers: IntegerReading,
): Declared[] {
  const root: PathNode = { type: undefined, members: new Map() };
  for (const column of read) {
    const steps = pathSteps(column.sourceField);
    let node = root;
    for (const step of steps) {
      const next: PathNode = node.members.get(step) ?? { type: undefined, members: new Map() };
      node.members.set(step, next);
      node = next;
    }
    node.type ??= column.type;
    const [first, ...rest] = steps as [string, ...string[]];
    const access = rest.reduce((sql, step) => `tupleElement(${sql}, ${literal(step)})`, identifier(first));
    expressionOf.set(column, columnValue(column, node.type, access, integers));
  }
  return [...root.members].map(([name, node]) => ({ name, type: typeOf(node, integers) }));
}

function typeOf(node: PathNode, integers: IntegerReading): string {
  if (node.members.size === 0) return readColumn(node.type as string, integers).declared;
  const members = [...node.members].map(([name, member]) => `${identifier(name)} ${typeOf(member, integers)}`);
  return `Tuple(${members.join(", ")})`;
}

/** The steps of a dotted path; a backslash escapes the next character. */
export function pathSteps(field: string): string[] {
  const steps = [...field.matchAll(/((?:\\.|[^.\\])+)/gsu)].map(([step]) => step.replaceAll(/\\(.)/gsu, "$1"));
  return steps.length === 0 ? [field] : steps;
}

/** Paths that are read as a value and are also the parent of another: the engine can read a field only one way. */
export function conflictingPaths(fields: readonly string[]): string[] {
  const paths = fields.map(pathSteps);
  return paths
    .filter((path) => paths.some((other) => other.length > path.length && path.every((step, i) => step === other[i])))
    .map((path) => path.join("."));
}
