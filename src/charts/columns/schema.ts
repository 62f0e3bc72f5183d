/** The columns of one table, and how a name given by a caller is found among them. */
import { tokenize } from "../../clickhouse/lexer.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { memoize } from "../../lib/memoize.ts";
import { nearMatches } from "../../lib/near-matches.ts";
import { FilterError } from "../filter/syntax.ts";
import { volatileColumns } from "./volatile.ts";

export type Column = {
  readonly name: string;
  readonly type: ColumnType;
  /** The expression of a DEFAULT, MATERIALIZED or ALIAS column, as the engine prints it. */
  readonly madeOf?: string | undefined;
};

export type TableSchema = {
  readonly database: string;
  readonly table: string;
  readonly columns: ReadonlyMap<string, Column>;
  /** Expressions of skip indexes, as the engine prints them. */
  readonly indexExpressions: readonly string[];
  /** Columns that occur in the sorting key or in a skip index: a condition on one of them may prune. */
  readonly indexed: readonly string[];
  /** Columns whose values may change although no row does. */
  readonly volatile: readonly string[];
};

export function tableSchema(
  database: string,
  table: string,
  columns: readonly { name: string; type: string; madeOf?: string }[],
  indexExpressions: readonly string[] = [],
  sortingKey = "",
): TableSchema {
  const words = new Set([sortingKey, ...indexExpressions].flatMap((text) => tokenize(text).map(({ value }) => value)));
  return {
    database,
    table,
    columns: new Map(columns.map(({ name, type, madeOf }) => [name, { name, type: parseType(type), madeOf }])),
    indexExpressions,
    indexed: columns.map(({ name }) => name).filter((name) => words.has(name)),
    volatile: volatileColumns(columns),
  };
}

/** No column with a longer name is found: a name is looked up once for each of its dots. */
const maxNameLength = 1000;

const longestName = memoize((schema: TableSchema) => {
  let longest = 0;
  for (const name of schema.columns.keys()) longest = Math.max(longest, name.length);
  return Math.min(longest, maxNameLength);
});

/** The longest prefix of a dotted name that is a column, and what follows it (without the dot). */
export function splitColumn(
  schema: TableSchema,
  dotted: string,
): { column: Column; rest: string | undefined } | undefined {
  const longest = longestName(schema);
  const start = dotted.length <= longest ? dotted.length : dotted.lastIndexOf(".", longest);
  for (let end = start; end > 0; end = dotted.lastIndexOf(".", end - 1)) {
    const column = schema.columns.get(dotted.slice(0, end));
    if (column) return { column, rest: end === dotted.length ? undefined : dotted.slice(end + 1) };
  }
  return undefined;
}

/** The error for a name that is no column: names up to three near matches. */
export function unknownColumn(schema: TableSchema, name: string, position: number): FilterError {
  const near = nearMatches(name, [...schema.columns.keys()]);
  const hint = near.length === 0 ? "" : `; did you mean ${near.join(", ")}?`;
  return new FilterError(`unknown column ${JSON.stringify(name.slice(0, 200))}${hint}`, position, "UNKNOWN_COLUMN");
}
