/** From the mistakes that parsers and the engine report to what a caller may see. */
import { ClickHouseError } from "../clickhouse/client.ts";
import { clickHouseCodes, codesOf } from "../clickhouse/error-codes.ts";
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

/** What the engine says of an expression that parses and does not fit: unknown names, types, arguments, values. */
const callerMistakes = codesOf(
  "CANNOT_PARSE_TEXT",
  "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
  "TOO_FEW_ARGUMENTS_FOR_FUNCTION",
  "BAD_ARGUMENTS",
  "CANNOT_PARSE_DATE",
  "CANNOT_PARSE_DATETIME",
  "NUMBER_OF_ARGUMENTS_DOESNT_MATCH",
  "ILLEGAL_TYPE_OF_ARGUMENT",
  "ILLEGAL_COLUMN",
  "UNKNOWN_FUNCTION",
  "UNKNOWN_IDENTIFIER",
  "NOT_IMPLEMENTED",
  "UNKNOWN_TYPE",
  "TYPE_MISMATCH",
  "ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER",
  "SYNTAX_ERROR",
  "UNKNOWN_AGGREGATE_FUNCTION",
  "ARGUMENT_OUT_OF_BOUND",
  "CANNOT_CONVERT_TYPE",
  "CANNOT_PARSE_NUMBER",
  "CANNOT_READ_ARRAY_FROM_TEXT",
  "TOO_LARGE_STRING_SIZE",
  "ZERO_ARRAY_OR_TUPLE_INDEX",
  "UNKNOWN_DIRECTION_OF_SORTING",
  "ILLEGAL_DIVISION",
  "BAD_TYPE_OF_FIELD",
  "SIZES_OF_ARRAYS_DONT_MATCH",
  "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE",
  "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN",
  "NO_COMMON_TYPE",
  "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
  "DECIMAL_OVERFLOW",
  "CANNOT_COMPILE_REGEXP",
  "BAD_QUERY_PARAMETER",
  "CANNOT_PARSE_IPV4",
  "CANNOT_PARSE_IPV6",
);
const noTable = codesOf("UNKNOWN_TABLE", "UNKNOWN_DATABASE");
const outOfTime = codesOf("TIMEOUT_EXCEEDED", "TOO_SLOW");
const overloaded = codesOf("TOO_MANY_SIMULTANEOUS_QUERIES", "CANNOT_SCHEDULE_TASK");
const tooMuch: Readonly<Record<number, string>> = {
  [clickHouseCodes.TOO_MANY_ROWS]:
    "the query would read more rows than allowed; ask for a shorter range or a narrower filter",
  [clickHouseCodes.TOO_MANY_BYTES]:
    "the query would read more bytes than allowed; ask for a shorter range or a narrower filter",
  [clickHouseCodes.TOO_MANY_ROWS_OR_BYTES]:
    "the answer has more rows than allowed; set a limit of groups, or choose a coarser granularity",
  [clickHouseCodes.MEMORY_LIMIT_EXCEEDED]:
    "the query needs more memory than allowed; group by less, or ask for a shorter range",
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
  if (noTable.has(error.code)) return make("QUERY_FAILED", "the source's table does not exist");
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
