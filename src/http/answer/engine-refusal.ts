/** Converts an error of the engine or the guard about a caller's statement into an error of the API. */
import { codesOf } from "../../clickhouse/error-codes.ts";
import type { ClickHouseException } from "../../clickhouse/exception.ts";
import { AppError, type ErrorCode, type Issue } from "../../lib/errors.ts";

const table: readonly (readonly [ErrorCode, ReadonlySet<number>])[] = [
  ["FORBIDDEN", codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION")],
  ["TIMEOUT", codesOf("TIMEOUT_EXCEEDED", "TOO_SLOW")],
  ["OVERLOADED", codesOf("TOO_MANY_SIMULTANEOUS_QUERIES", "CANNOT_SCHEDULE_TASK")],
  ["SERVICE_UNAVAILABLE", codesOf("NETWORK_ERROR")],
];

/** `engine` has the engine's code and name; a syntax error has its place in `statement`, a `member` of the request. */
export function engineRefusal(error: ClickHouseException, statement: string, member: string): AppError {
  const code = table.find(([, codes]) => codes.has(error.code))?.[0] ?? "QUERY_FAILED";
  const position = positionIn(statement, error.message);
  const issue: Issue = { path: member, message: error.message, ...(position === undefined ? {} : { position }) };
  return new AppError(code, error.message, {
    cause: error,
    issues: [issue],
    engine: { code: error.code, name: error.codeName },
  });
}

/** The engine counts bytes from 1. */
function positionIn(statement: string, message: string): number | undefined {
  const found = /^(?:[^:]*: )?Syntax error[^:]*: failed at position (\d+)/.exec(message)?.[1];
  if (found === undefined) return undefined;
  return Buffer.from(statement)
    .subarray(0, Number(found) - 1)
    .toString().length;
}
