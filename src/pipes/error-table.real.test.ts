/** The cause of a refusal, as the engine makes it of the message. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestServer } from "../../harness/clickhouse/server.ts";
import { parameterText } from "../clickhouse/sql.ts";
import { shapeSql } from "./error-table.ts";

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server?.[Symbol.asyncDispose]());

test.each([
  ["Cannot parse string 'a\\'1' as UInt8: syntax error", "Cannot parse string ... as UInt8: syntax error"],
  ["JSON value of type Int32 here: 99999999999", "JSON value of type Int32 here: N"],
  [
    "Array(Nullable(Decimal(9, 2))), Decimal256(3) here: -1.5e10",
    "Array(Nullable(Decimal(9, 2))), Decimal256(3) here: -N.NeN",
  ],
  [
    "FixedString(16), DateTime64(3), DateTime64(6, 'UTC'), Date32: 7",
    "FixedString(16), DateTime64(3), DateTime64(6, ...), Date32: N",
  ],
  // A value is not a type.
  ["CSV value of type Float64 here: user123, Int99", "CSV value of type Float64 here: userN, IntN"],
])("%s has the cause %s", async (message, cause) => {
  const params = { message: parameterText(message) };
  const sql = `SELECT ${shapeSql} AS cause FROM (SELECT {message:String} AS message)`;
  expect(await server.client.rows(sql, { params })).toEqual([{ cause }]);
});
