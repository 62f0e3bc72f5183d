import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { memoryOf } from "../bench/fleet.ts";
import { numberOf } from "../harness/bounds.ts";
import { rows } from "../harness/pipes.ts";
import { type PushAddress, pushPipe, send } from "../harness/push/pipes.ts";
import { spanOf, telemetryPipe, tracesOf } from "../harness/push/telemetry.ts";
import { type BenchService, runningService, type Served, serve, until } from "../harness/serve.ts";
import { fromJson } from "../src/sources/push/otlp/json.ts";

export const description =
  "the memory of control plane, workers and engine while rows and telemetry are sent and loaded for ten minutes";

const seconds = numberOf("SECONDS", 600);
const clients = 4;
const perRequest = 100;
/** Between two requests of a client. */
const pauseMs = 20;
/** A share of the time: before, memory grows to what the load needs. */
const warm = 0.2;

type Process = "controlPlane" | "pushWorker" | "otlpWorker" | "engine";

export async function run(): Promise<Record<string, string | number>> {
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const rowsTo = await pushPipe(served, service, "pushed");
  const spansTo = await telemetryPipe(served, service, "otel");
  const end = performance.now() + seconds * 1_000;
  let requests = 0;
  const sending = Array.from({ length: clients }, async () => {
    while (performance.now() < end) {
      requests += 1;
      const first = requests * perRequest;
      await Promise.all([sendRows(rowsTo, first), sendSpans(spansTo, first)]);
      await delay(pauseMs);
    }
  });
  const samples: Record<Process, number>[] = [];
  while (performance.now() < end) {
    await delay((seconds * 1_000) / 60);
    samples.push(sample(served, service, rowsTo, spansTo));
  }
  await Promise.all(sending);
  for (const { pipeId } of [rowsTo, spansTo]) await drained(served, service, pipeId);
  return { rows: requests * perRequest, spans: requests * perRequest, ...growthOf(samples) };
}

async function sendRows(to: PushAddress, first: number): Promise<void> {
  const { status } = await send(to, rows(first, first + perRequest));
  if (status !== 202) throw new Error(`rows were answered with ${status}`);
}

const spans = fromJson(
  "traces",
  Buffer.from(JSON.stringify(tracesOf(Array.from({ length: perRequest }, (_, id) => spanOf(id))))),
);

async function sendSpans({ url, key }: PushAddress, first: number): Promise<void> {
  // A field that says nothing to the server, and differs in each request.
  const own = Buffer.from([0x7d, 0, 0, 0, 0]);
  own.writeUInt32LE(first, 1);
  const response = await fetch(`${url}/v1/traces`, {
    method: "POST",
    body: Buffer.concat([spans, own]),
    headers: { authorization: key, "content-type": "application/x-protobuf" },
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`spans were answered with ${response.status}`);
}

/** In MB. */
function sample({ dataDir, process }: Served, { id }: BenchService, rowsTo: PushAddress, spansTo: PushAddress) {
  const of = (file: string) => (JSON.parse(readFileSync(join(dataDir, file), "utf8")) as { readonly pid: number }).pid;
  const mb = (pid: number) => memoryOf([pid]).rss;
  return {
    controlPlane: mb(process.pid as number),
    pushWorker: mb(of(`pipes/${rowsTo.pipeId}.pid`)),
    otlpWorker: mb(of(`pipes/${spansTo.pipeId}.pid`)),
    engine: mb(of(`services/${id}/engine.pid`)),
  };
}

/** The median of each process over the last fifth of the time, and by how much it is above that after the beginning. */
function growthOf(samples: readonly Record<Process, number>[]): Record<string, number> {
  const fifth = Math.max(1, Math.floor(samples.length * warm));
  const median = (part: readonly Record<Process, number>[], name: Process) =>
    part.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(part.length / 2)] as number;
  const names = Object.keys(samples[0] ?? {}) as Process[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const last = median(samples.slice(-fifth), name);
      const growth = last - median(samples.slice(fifth, fifth * 2), name);
      return [
        [`${name}Mb`, Math.round(last)],
        [`${name}GrowthMb`, Math.round(growth)],
      ];
    }),
  );
}

async function drained(served: Served, service: BenchService, pipeId: string): Promise<void> {
  await until("everything is loaded", async () => {
    const { progress } = await served.api.getPipe({ params: { ...service.params, pipeId } });
    return progress.lagMessages === 0;
  });
}
