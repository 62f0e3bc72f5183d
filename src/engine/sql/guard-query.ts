/** The guard's queries to the engine: the canonical text of a statement, and which names are user-defined. */
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { plainQuotes, type QuotedRange } from "./text/quotes.ts";

/**
 * Limit of the canonical text, which can be longer than the statement: the formatter writes the subject of BETWEEN
 * twice.
 */
const maxCanonicalBytes = 1_048_576;

/**
 * Settings of the guard's statements: escapes can lengthen a text, the formatter may not use up the service's memory,
 * and the statements stay out of the query log.
 */
export const guardQuerySettings = {
  max_query_size: 1_048_576,
  max_memory_usage: 268_435_456,
  max_result_bytes: maxCanonicalBytes + 1_024,
  result_overflow_mode: "throw",
  default_format: "TSVRaw",
  // The tree would have the WITH of a UNION once for each of its queries, and the text has it once.
  enable_global_with_statement: 0,
  // A UNION without a mode is one only with a setting of the client, which the engine knows when it runs it.
  union_default_mode: "ALL",
  log_queries: 0,
} as const;

/**
 * Runs a statement of the guard on the engine, as a user of the control plane, and returns the body. Both are latin1:
 * one character is one byte. Rejects with the engine's `ClickHouseException`. Parser settings must equal those of the
 * clients.
 */
export type GuardQuery = (statement: string, params?: Readonly<Record<string, string>>) => Promise<string>;

export type CanonicalText = {
  readonly text: string;
  /** The names and texts in quotes of the client's own text. */
  readonly quotes: readonly QuotedRange[];
};

/**
 * The engine's canonical text of a statement, which is cheap to format. Rejects with the engine's error when the text
 * cannot be parsed.
 */
export async function canonicalText(guardQuery: GuardQuery, text: string): Promise<CanonicalText> {
  const plain = plainQuotes(text);
  const statement =
    plain === undefined ? readingOf(text) : `SELECT formatQuerySingleLine(${quote(text)}) FORMAT RawBLOB`;
  const body = await guardQuery(statement).catch((error: unknown) => {
    throw error instanceof ClickHouseException ? explain(error) : error;
  });
  if (plain !== undefined) return { text: body, quotes: plain };
  const end = body.lastIndexOf("\n");
  return { text: body.slice(0, end), quotes: JSON.parse(body.slice(end + 1)) as QuotedRange[] };
}

/** The canonical text, which has no line breaks, and behind it where the quotes of the text itself are. */
function readingOf(text: string): string {
  return `WITH ${quote(text)} AS t SELECT concat(formatQuerySingleLine(t), '\\n', toString(arrayMap(x -> [x.1, x.2],
    arrayFilter(x -> x.3 IN ('QuotedIdentifier', 'StringLiteral', 'HereDoc'), tokenizeQuery(t))))) FORMAT RawBLOB`;
}

/**
 * What EXPLAIN prints of a statement, which is not run: the tree of its text, or of a query after names have been told
 * from functions. `params` are values of its parameters. The text must have been judged, except for its tree.
 */
export async function explained(
  guardQuery: GuardQuery,
  kind: "AST" | "QUERY TREE run_passes = 0",
  text: string,
  params: Readonly<Record<string, string>>,
): Promise<string> {
  return await guardQuery(`EXPLAIN ${kind} ${text}`, params);
}

/** The definitions of functions that users have made. */
export async function functionBodies(guardQuery: GuardQuery, names: ReadonlySet<string>): Promise<string[]> {
  const list = [...names].map(quote).join(", ");
  const where = `origin = 'SQLUserDefined' AND name IN (${list})`;
  const body = await guardQuery(`SELECT create_query FROM system.functions WHERE ${where} FORMAT JSONCompactEachRow`);
  return jsonColumn(body);
}

/** Those of the names that tables of the engine Set have, in any database. */
export async function namesOfSets(guardQuery: GuardQuery, names: readonly string[]): Promise<string[]> {
  const list = names.map(quote).join(", ");
  const body = await guardQuery(
    `SELECT DISTINCT name FROM system.tables WHERE engine = 'Set' AND name IN (${list}) FORMAT JSONCompactEachRow`,
  );
  return jsonColumn(body);
}

/** The subset of the names that are user-defined functions or views. */
export async function madeByUsers(guardQuery: GuardQuery, names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const list = [...names].map(quote).join(", ");
  const views = "FROM system.tables WHERE engine = 'View' AND";
  const body = await guardQuery(
    `SELECT name FROM system.functions WHERE origin = 'SQLUserDefined' AND name IN (${list}) ` +
      `UNION ALL SELECT name ${views} name IN (${list}) ` +
      // The formatter writes a view of another database as one name: `d.v`(a = 1).
      `UNION ALL SELECT concat(database, '.', name) AS whole ${views} whole IN (${list}) FORMAT JSONCompactEachRow`,
  );
  return new Set(jsonColumn(body));
}

/** The only column of rows in JSONCompactEachRow, as latin1. */
function jsonColumn(body: string): string[] {
  const lines = body.split("\n").filter((line) => line !== "");
  return lines.map((line) => Buffer.from((JSON.parse(line) as [string])[0]).toString("latin1"));
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

function explain(error: ClickHouseException): ClickHouseException {
  const tooLarge =
    error.code === clickHouseCodes.MEMORY_LIMIT_EXCEEDED || error.code === clickHouseCodes.TOO_MANY_ROWS_OR_BYTES;
  if (!tooLarge) return withoutScope(error);
  return clickHouseException("QUERY_IS_TOO_LARGE", "The statement is too large once it is written out.", {
    cause: error,
  });
}

/** The engine quotes the guard's statement in its errors. */
function withoutScope(error: ClickHouseException): ClickHouseException {
  const at = error.message.search(/:? ?In scope (?:SELECT formatQuerySingleLine\(|WITH ')/);
  if (at < 0) return error;
  // The end of the message contains the error's name, and is missing where the text is long.
  const name = isSyntaxError(error) ? "SYNTAX_ERROR" : error.codeName;
  return new ClickHouseException(error.code, name, error.message.slice(0, at));
}

/** True for an error that means the text is not a statement. */
export function isSyntaxError(error: unknown): boolean {
  return error instanceof ClickHouseException && error.code === clickHouseCodes.SYNTAX_ERROR;
}
