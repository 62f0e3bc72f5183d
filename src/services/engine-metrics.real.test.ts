import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../harness/engine/bare-engine.ts";
import { internalUser } from "../engine/chdb/users.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import type { RunningEngine } from "./runtime.ts";

let engine: BareEngine;
beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(async () => await engine[Symbol.asyncDispose]());

test("an engine's numbers are read, and kept when it does not answer any more", async () => {
  const handoff = { inserts: { waiting: 1, waitingBytes: 20, inserts: 300, flushes: 4, failed: 5 } };
  const running = { address: engine.addressOf(internalUser), handoff } as RunningEngine;
  const engines = new Map([["s", running]]);
  const metrics = new EngineMetrics(
    () => engines,
    () => 5_000,
  );
  const value = (name: string, table?: string) =>
    metrics.samples("o", "s").find((one) => one.name === name && one.labels.table === table)?.value;
  expect(metrics.samples("o", "s")).toEqual([]);

  await engine.client.command("CREATE TABLE t (a UInt64) ORDER BY a");
  await engine.client.command("INSERT INTO t SELECT number FROM numbers(1000)");
  await expect(engine.client.command("SELECT throwIf(1)")).rejects.toThrow();
  await metrics.pass();
  expect(value("Service_InsertedRows_Total")).toBe(1_000);
  expect(value("Service_FailedQueries_Total")).toBe(1);
  expect(value("Service_FailedSelectQueries_Total")).toBe(1);
  expect(value("Service_SelectQueries_Total")).toBeGreaterThan(0);
  expect(value("Service_Memory_Bytes")).toBeGreaterThan(1_000_000);
  expect(value("Service_QueryTime_Seconds_Total")).toBeGreaterThan(0);
  expect(value("Service_Table_Rows", "t")).toBe(1_000);
  expect(value("Service_Table_Parts", "t")).toBe(1);
  expect(value("Service_AsyncInserts_Total")).toBe(300);
  expect(value("Service_AsyncInserts_Waiting_Bytes")).toBe(20);
  expect(value("Service_Metrics_Timestamp")).toBe(5);

  await engine.stop();
  await metrics.pass();
  expect(value("Service_InsertedRows_Total")).toBe(1_000);
  metrics.keepOnly(new Set(["other"]));
  expect(metrics.samples("o", "s")).toEqual([]);
});
