/** A body of OpenTelemetry that takes seconds to read holds up nobody but its sender. */
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../harness/network/free-port.ts";
import { exportGrpc } from "../../../harness/push/grpc.ts";
import type { PushAddress } from "../../../harness/push/pipes.ts";
import { exportJson, spanOf, telemetryPipe, tracesOf } from "../../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { fromJson } from "../../../src/sources/push/otlp/json.ts";

let otlpPort: number;
let served: Served;
let service: BenchService;
let to: PushAddress;

beforeAll(async () => {
  otlpPort = await freePort();
  served = await serve({ env: { MILLRACE_OTLP_PORT: String(otlpPort) } });
  service = await runningService(served, { idleScaling: false });
  to = await telemetryPipe(served, service, "otel");
});
afterAll(async () => await served?.[Symbol.asyncDispose]());

test("the API answers while a body is read that is large and slow", async () => {
  const flags = '"flags":1,'.repeat(4_000_000);
  const body = gzipSync(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{${flags}"flags":"x"}]}]}]}`);
  const headers = { authorization: to.key, "content-type": "application/json", "content-encoding": "gzip" };
  const began = performance.now();
  let isAnswered = false;
  const sending = fetch(`${to.url}/v1/logs`, { method: "POST", body, headers }).finally(() => {
    isAnswered = true;
  });
  let longestMs = 0;
  while (!isAnswered) {
    const asked = performance.now();
    await served.api.listPipes({ params: service.params });
    longestMs = Math.max(longestMs, performance.now() - asked);
    await pause(1);
  }
  const answer = await sending;
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ message: expect.stringContaining("flags must be an integer") });
  expect(longestMs).toBeLessThan((performance.now() - began) / 4);
});

test("large bodies are loaded once, in whichever encoding they are repeated", async () => {
  const spans = tracesOf(Array.from({ length: 6_000 }, (_, id) => spanOf(id)));
  const protobuf = fromJson("traces", Buffer.from(JSON.stringify(spans)));
  expect((await exportJson(to, "traces", spans)).status).toBe(200);
  expect(await exportGrpc(otlpPort, to.key, "traces", protobuf)).toMatchObject({ status: 0 });
  const zstd = { encoding: "zstd" };
  expect(await exportGrpc(otlpPort, to.key, "traces", zstdCompressSync(protobuf), zstd)).toMatchObject({ status: 0 });
  expect((await exportJson(to, "traces", tracesOf([spanOf(9_999)]))).status).toBe(200);
  const count = async () => Number(await query(service, "SELECT count() FROM otel.otel_traces"));
  await until("the last span is loaded", async () => (await count()) > 6_000);
  expect(await count()).toBe(6_001);
});
