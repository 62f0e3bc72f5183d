import { expect, test } from "vitest";
import { clickHouseCodes, codesOf, httpStatusOf, isDataError } from "./error-codes.ts";

test("a code has one name", () => {
  const codes = Object.values(clickHouseCodes);
  expect(new Set(codes).size).toBe(codes.length);
});

test("errors have the HTTP status of the server, 500 where it has none", () => {
  const { TIMEOUT_EXCEEDED, QUERY_IS_TOO_LARGE, UNKNOWN_TABLE, ACCESS_DENIED, MEMORY_LIMIT_EXCEEDED } = clickHouseCodes;
  const statuses = [TIMEOUT_EXCEEDED, QUERY_IS_TOO_LARGE, UNKNOWN_TABLE, ACCESS_DENIED, MEMORY_LIMIT_EXCEEDED, 9999];
  expect(statuses.map(httpStatusOf)).toEqual([408, 413, 404, 403, 500, 500]);
});

test("bad bytes are told from what may pass by itself", () => {
  const isData = (code: number, message = "") => isDataError({ code, message });
  const { STD_EXCEPTION } = clickHouseCodes;
  for (const code of codesOf("CANNOT_PARSE_NUMBER", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", "AVRO_EXCEPTION")) {
    expect(isData(code)).toBe(true);
  }
  for (const code of codesOf("DNS_ERROR", "NETWORK_ERROR", "UNKNOWN_TABLE")) expect(isData(code)).toBe(false);
  expect(isData(STD_EXCEPTION, "std::exception. Code: 1001, type: parquet::ParquetException")).toBe(true);
  expect(isData(STD_EXCEPTION, "std::exception. Code: 1001, type: std::bad_alloc")).toBe(false);
});
