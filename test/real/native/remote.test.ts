/** A server of ClickHouse is a client too: `remote()` reads from a service and writes to it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

let stage: NativeStage;
let server: BareEngine;

beforeAll(async () => {
  [stage, server] = await Promise.all([nativeStage(), BareEngine.start()]);
  await stage.http("CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
  await stage.http("INSERT INTO t SELECT number, toString(number % 3) FROM numbers(1000)");
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const remote = (table: string) => `remote('127.0.0.1:${stage.port}', ${table}, 'default', '${stage.service.password}')`;
const ask = async (sql: string) => (await server.client.text(sql)).trim();

test("SELECT, GROUP BY and IN", async () => {
  expect(await ask(`SELECT count(), sum(a) FROM ${remote("default.t")}`)).toBe("1000\t499500");
  expect(await ask(`SELECT s, count() FROM ${remote("default.t")} GROUP BY s ORDER BY s`)).toBe(
    "0\t334\n1\t333\n2\t333",
  );
  expect(await ask(`SELECT count() FROM ${remote("default.t")} WHERE a IN (SELECT number FROM numbers(10))`)).toBe(
    "10",
  );
});

test("INSERT", async () => {
  await server.client.command(
    `INSERT INTO FUNCTION ${remote("default.t")} SELECT number + 1000, 'x' FROM numbers(500)`,
  );
  expect(await stage.http("SELECT count() FROM t WHERE s = 'x'")).toBe("500");
});

test("what the guard refuses is refused", async () => {
  await expect(ask(`SELECT * FROM ${remote("url('http://127.0.0.1/', CSV, 'a Int8')")}`)).rejects.toThrow(
    /not available/,
  );
});
