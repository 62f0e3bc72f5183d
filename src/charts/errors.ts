/** From the mistakes that parsers and the engine report to what a caller may see. */
import { ClickHouseError } from "../clickhouse/client.ts";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import { FilterError } from "./filter/syntax.ts";

/** Runs a step that reads text of the caller; its FilterError becomes an AppError that names the place. */
export function at<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new AppError(error.code, `${path}: ${error.message} (at position ${error.position})`, {
      issues: [{ path, message: error.message, position: error.position }],
    });
  }
}

export function badRequest(path: string, message: string): AppError {
  return new AppError("BAD_REQUEST", `${path}: ${message}`, { issues: [{ path, message }] });
}

/** What the engine says of an expression that parses and does not fit: unknown names, types, arguments, values. */
const callerMistakes = new Set([
  6, 27, 35, 36, 38, 41, 42, 43, 44, 46, 47, 48, 50, 53, 59, 62, 63, 69, 70, 72, 130, 131, 135, 152, 153, 169, 190, 321,
  349, 386, 395, 407, 427, 457, 675, 676, 677,
]);
const outOfTime = new Set([159, 160]);
const overloaded = new Set([202, 439]);
const tooMuch: Readonly<Record<number, string>> = {
  158: "the query would read more rows than allowed; ask for a shorter range or a narrower filter",
  307: "the query would read more bytes than allowed; ask for a shorter range or a narrower filter",
  396: "the answer has more rows than allowed; set a limit of groups, or choose a coarser granularity",
  241: "the query needs more memory than allowed; group by less, or ask for a shorter range",
};

/**
 * The error of a failed query. `fromCaller` says whether the query holds expressions of the caller, which then are the
 * reason for names and types that do not fit.
 */
export function engineError(error: unknown, fromCaller: boolean): unknown {
  if (error instanceof AppError) return error;
  if (!(error instanceof ClickHouseError)) {
    return new AppError("SERVICE_UNAVAILABLE", "the service did not answer", { cause: error });
  }
  const make = (code: ErrorCode, message: string) => new AppError(code, message, { cause: error });
  if (outOfTime.has(error.code)) return make("TIMEOUT", "the query took longer than allowed");
  if (overloaded.has(error.code) || /\(total\) memory limit/i.test(error.message)) {
    return make("OVERLOADED", "the service has no room for another query now");
  }
  const limit = tooMuch[error.code];
  if (limit !== undefined) return make("QUERY_FAILED", limit);
  if (error.code === 60 || error.code === 81) return make("QUERY_FAILED", "the source's table does not exist");
  const message = reason(error.message);
  if (callerMistakes.has(error.code) && fromCaller) return make("BAD_REQUEST", message);
  return make("QUERY_FAILED", message);
}

/** The engine's first sentence, without the query text that it appends. */
function reason(message: string): string {
  const text = message
    .replace(/^(Query failed: )?Code: \d+\.\s*/, "")
    .replace(/^DB::Exception:\s*/, "")
    .split("\n")[0] as string;
  const sentence = text
    .replace(/(:?\s+(In scope|while executing|While processing|while processing|While executing|: while)\b).*$/s, "")
    .replace(/\(version [^)]*\)\s*$/, "")
    .replaceAll(/__[a-z]\d*\b/g, "expression")
    .trim();
  return sentence.length > 300 ? `${sentence.slice(0, 299)}…` : sentence;
}
