/** The columns of one table, and how a name given by a caller is found among them. */
import { isPunctuation, type Token, tokenize } from "../../clickhouse/lexer.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { memoize } from "../../lib/memoize.ts";
import { nearMatches } from "../../lib/near-matches.ts";
import { allowedFunction, isVolatile } from "../expression/functions.ts";
import { FilterError } from "../filter/syntax.ts";

export type Column = {
  readonly name: string;
  readonly type: ColumnType;
  /** The expression of a DEFAULT, MATERIALIZED or ALIAS column, as the engine prints it. */
  readonly madeOf?: string | undefined;
};

/** Functions whose values a filter looks up in skip indexes. */
const indexedFunctions = ["lower", "mapKeys"] as const;
type IndexedFunction = (typeof indexedFunctions)[number];

export type TableSchema = {
  readonly database: string;
  readonly table: string;
  readonly columns: ReadonlyMap<string, Column>;
  /** What skip indexes hold of calls: the arguments by function, in the form of `argumentForm`. */
  readonly indexedCalls: ReadonlyMap<IndexedFunction, ReadonlySet<string>>;
  /** Columns that occur in the sorting key or in a skip index: a condition on one of them may prune. */
  readonly indexed: readonly string[];
  /** What the table is sorted by, in order. */
  readonly sortedBy: readonly string[];
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
    indexedCalls: new Map(indexedFunctions.map((name) => [name, argumentsOf(name, indexExpressions)])),
    indexed: columns.map(({ name }) => name).filter((name) => words.has(name)),
    sortedBy: itemsOf(sortingKey),
    volatile: volatileColumns(columns),
  };
}

/** The items of a list of expressions. */
function itemsOf(list: string): string[] {
  let [depth, begin] = [0, 0];
  const items: string[] = [];
  for (const token of tokenize(list)) {
    if (isPunctuation(token, "(") || isPunctuation(token, "[")) depth += 1;
    if (isPunctuation(token, ")") || isPunctuation(token, "]")) depth -= 1;
    if (depth > 0 || !isPunctuation(token, ",")) continue;
    items.push(list.slice(begin, token.start));
    begin = token.end;
  }
  return [...items, list.slice(begin)].map((item) => item.trim()).filter((item) => item !== "");
}

/** Whether a skip index holds this function of the expression. */
export function isIndexed(schema: TableSchema, name: IndexedFunction, sql: string): boolean {
  const known = schema.indexedCalls.get(name);
  return known !== undefined && known.size > 0 && known.has(argumentForm(tokenize(sql)));
}

/** The arguments of every call of the function in the expressions. */
function argumentsOf(name: IndexedFunction, expressions: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const tokens of expressions.map(tokenize)) {
    for (const [i, token] of tokens.entries()) {
      if (token.kind !== "word" || token.text !== name || !isPunctuation(tokens[i + 1], "(")) continue;
      let end = i + 2;
      for (let depth = 1; end < tokens.length; end += 1) {
        if (isPunctuation(tokens[end], "(")) depth += 1;
        if (isPunctuation(tokens[end], ")")) depth -= 1;
        if (depth === 0) break;
      }
      found.add(argumentForm(tokens.slice(i + 2, end)));
    }
  }
  return found;
}

/** The same for all spellings of an expression: quoted names, and spaces between its parts. */
function argumentForm(tokens: readonly Token[]): string {
  return tokens.map(({ kind, value }) => JSON.stringify([kind === "quotedIdentifier" ? "word" : kind, value])).join();
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

/** The error for a name that is not a column: names up to three near matches. */
export function unknownColumn(schema: TableSchema, name: string, position: number): FilterError {
  const near = nearMatches(name, [...schema.columns.keys()]);
  const hint = near.length === 0 ? "" : `; did you mean ${near.join(", ")}?`;
  return new FilterError(`unknown column ${JSON.stringify(name.slice(0, 200))}${hint}`, position, "UNKNOWN_COLUMN");
}

/** Calls in the engine's text that depend on their arguments only. */
const harmless = new Set(["cast", "_cast", "in", "notin", "tuple", "array", "interval"]);

/**
 * The names of columns whose values depend on more than the rows: an ALIAS over `now()`, a default that asks a
 * dictionary. A function that is not known here counts as one that may answer
 * differently.
 */
function volatileColumns(columns: readonly Pick<Column, "name" | "madeOf">[]): string[] {
  const found = new Set<string>();
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { name, madeOf } of columns) if (madeOf && dependsOnMore(madeOf, found)) found.add(name);
  }
  return [...found];
}

function dependsOnMore(expression: string, volatile: ReadonlySet<string>): boolean {
  const tokens = tokenize(expression);
  return tokens.some((token, i) => {
    if (token.kind !== "word" && token.kind !== "quotedIdentifier") return false;
    if (!isPunctuation(tokens[i + 1], "(")) return volatile.has(token.value);
    const name = allowedFunction(token.value);
    return name === undefined ? !harmless.has(token.value.toLowerCase()) : isVolatile(name);
  });
}
