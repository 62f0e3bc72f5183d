import { expect, test } from "vitest";
import { ApiError } from "../api/error.ts";
import { brokenQuery, refusedQuery } from "./query-error.ts";

test("the place of a syntax error is the server's", () => {
  const error = new ApiError(422, {
    error: "UNPROCESSABLE: Syntax error: failed at position 1 (SELEC): SELEC 1. Expected one of: Query, EXPLAIN",
    code: "QUERY_FAILED",
    issues: [{ path: "query", message: "", position: 0 }],
    engine: { code: 62, name: "SYNTAX_ERROR" },
    requestId: "r",
  });
  expect(refusedQuery(error, "SELEC 1")).toEqual({
    message: "Syntax error: failed at position 1 (SELEC): SELEC 1.",
    more: "Expected one of: Query, EXPLAIN",
    code: "SYNTAX_ERROR (62)",
    requestId: "r",
    position: 0,
  });
});

test("a name that is not known is found in the statement", () => {
  const error = new ApiError(422, {
    message: "Unknown expression identifier `foo` in scope SELECT foo",
    code: "QUERY_FAILED",
  });
  expect(refusedQuery(error, "SELECT 1, foo")).toMatchObject({ position: 10 });
});

test("an exception within a result has its code and no version", () => {
  const text =
    "Code: 395. DB::Exception: Value is non-zero: while executing 'FUNCTION x'. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO) (version 26.7.2.1)";
  expect(brokenQuery(text, "SELECT 1")).toMatchObject({
    message: "Value is non-zero.",
    more: "while executing 'FUNCTION x'.",
    code: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO (395)",
    position: undefined,
  });
});
