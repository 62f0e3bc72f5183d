import { expect, test } from "vitest";
import { clickHouseCodes, codesOf, httpStatusOf, isBrokenBetweenServers, isDataError } from "./error-codes.ts";

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

test("a broken connection between servers is not a truncated file, and no row can look like one", () => {
  const code = clickHouseCodes.ATTEMPT_TO_READ_AFTER_EOF;
  const truncated =
    "Code: 32. DB::Exception: Attempt to read after eof: (in file/uri bucket/a.parquet). (ATTEMPT_TO_READ_AFTER_EOF)";
  const broken =
    "Code: 32. DB::Exception: Attempt to read after eof: while receiving packet from 127.0.0.1:9001, local address: 127.0.0.1:33864: " +
    "Insertion status:\nWrote 1 blocks and 8073 rows on shard 1 replica 0. (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7.2.1)";
  const row =
    "Code: 27. DB::Exception: Cannot parse input: expected ',' before: 'Code: 32. DB::Exception: : while receiving packet from x'";
  expect(isDataError({ code, message: truncated })).toBe(true);
  expect(isDataError({ code, message: broken })).toBe(false);
  expect([truncated, broken, row].map((message) => isBrokenBetweenServers({ message }))).toEqual([false, true, false]);
});
