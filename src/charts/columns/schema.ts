/** The columns of one table, and how a name given by a caller is found among them. */
import { tokenize } from "../../clickhouse/lexer.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { remember } from "../../lib/remember.ts";
import { FilterError } from "../filter/syntax.ts";

export type Column = { readonly name: string; readonly type: ColumnType };

export type TableSchema = {
  readonly database: string;
  readonly table: string;
  readonly columns: ReadonlyMap<string, Column>;
  /** Expressions of skip indexes, as the engine prints them. */
  readonly indexExpressions: readonly string[];
  /** Columns that occur in the sorting key or in a skip index: a condition on one of them may prune. */
  readonly indexed: readonly string[];
};

export function tableSchema(
  database: string,
  table: string,
  columns: readonly { name: string; type: string }[],
  indexExpressions: readonly string[] = [],
  sortingKey = "",
): TableSchema {
  const words = new Set([sortingKey, ...indexExpressions].flatMap((text) => tokenize(text).map(({ value }) => value)));
  return {
    database,
    table,
    columns: new Map(columns.map(({ name, type }) => [name, { name, type: parseType(type) }])),
    indexExpressions,
    indexed: columns.map(({ name }) => name).filter((name) => words.has(name)),
  };
}

/** No column with a longer name is found: a name is looked up once for each of its dots. */
const maxNameLength = 1000;

const longestName = remember((schema: TableSchema) => {
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

/** Names that are compared with one that is unknown. */
const maxCandidates = 1000;

/**
 * Up to three candidates that begin with the name or are within a third of its length of edits, nearest first; case
 * does not count. Looks at the first `maxCandidates`.
 */
export function nearMatches(name: string, candidates: readonly string[]): string[] {
  const wanted = name.slice(0, 64).toLowerCase();
  const head = wanted.split(".")[0] as string;
  const limit = Math.floor(wanted.length / 3);
  return candidates
    .slice(0, maxCandidates)
    .map((candidate) => {
      const text = candidate.slice(0, 100).toLowerCase();
      const begins = head.length > 1 && text.startsWith(head);
      return { candidate, distance: begins ? 0 : Math.min(edits(wanted, text, limit), edits(head, text, limit)) };
    })
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Edits from one text to the other, or some number above `limit` when there are more. */
function edits(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const fewest = Math.min(replace, (previous[j] as number) + 1, (row[j - 1] as number) + 1);
      row.push(fewest);
      if (fewest < least) least = fewest;
    }
    if (least > limit) return least;
    previous = row;
  }
  return previous[b.length] as number;
}
