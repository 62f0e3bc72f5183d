/** The guard's queries to the engine: the canonical text of a statement, and which names are user-defined. */
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { QuotedRange } from "./text/quotes.ts";

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
  log_queries: 0,
} as const;

/**
 * Runs a statement of the guard on the engine, as a user of the control plane, and returns the body. Both are latin1:
 * one character is one byte. Rejects with the engine's `ClickHouseException`. Parser settings must equal those of the
 * clients.
 */
export type GuardQuery = (statement: string) => Promise<string>;

export type CanonicalText = {
  readonly text: string;
  /** The names and texts in quotes of the client's own text, without the plainest ones. */
  readonly quotes: readonly QuotedRange[];
};

/**
 * The engine's canonical text of a statement, which is cheap to format. Rejects with the engine's error when the text
 * cannot be parsed.
 */
export async function canonicalText(guardQuery: GuardQuery, text: string): Promise<CanonicalText> {
  const body = await guardQuery(readingOf(text)).catch((error: unknown) => {
    throw error instanceof ClickHouseException ? explain(error) : error;
  });
  const end = body.lastIndexOf("\n");
  return { text: body.slice(0, end), quotes: JSON.parse(body.slice(end + 1)) as QuotedRange[] };
}

/** The statement that reads this text: its canonical text, which has no line breaks, and where its quotes are. */
export function readingOf(text: string): string {
  // Plain quotes are left out: only those count that could end another one.
  const plain = `^'[^'"\`\\\\]*'$|^["\`][A-Za-z0-9_]*["\`]$`;
  return `WITH ${quote(text)} AS t SELECT concat(formatQuerySingleLine(t), '\\n', toString(arrayMap(x -> [x.1, x.2], arrayFilter(
    x -> x.3 IN ('QuotedIdentifier', 'StringLiteral', 'HereDoc') AND NOT match(substring(t, x.1 + 1, x.2 - x.1), ${quote(plain)}),
    tokenizeQuery(t))))) FORMAT RawBLOB`;
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
  const lines = body.split("\n").filter((line) => line !== "");
  return new Set(lines.map((line) => Buffer.from((JSON.parse(line) as [string])[0]).toString("latin1")));
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
  const at = error.message.search(/:? ?In scope WITH '/);
  if (at < 0) return error;
  // For a long text the end of the message is missing, which contains the error's name.
  const name = isSyntaxError(error) ? "SYNTAX_ERROR" : error.codeName;
  return new ClickHouseException(error.code, name, error.message.slice(0, at));
}

/** True for an error that means the text is not a statement. */
export function isSyntaxError(error: unknown): boolean {
  return error instanceof ClickHouseException && error.code === clickHouseCodes.SYNTAX_ERROR;
}
