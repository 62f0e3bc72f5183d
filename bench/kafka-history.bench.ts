/**
 * What histories cost a busy pipe: processor time of the control plane and of the worker for the same messages, by
 * servers that record histories and servers that do not, in turns. Wall time differs more between two equal runs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { numberOf } from "../harness/bounds.ts";
import { startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody } from "../harness/kafka/pipes.ts";
import { createPipe, details } from "../harness/pipes.ts";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import { type BenchResult, median, round } from "./bench.ts";
import { jsonMessage } from "./kafka.ts";

export const description =
  "CPU seconds of a Kafka pipe per million messages of 200 B, with and without histories (ratio <= 1.03)";

const rows = numberOf("COUNT", 500_000);
const rounds = numberOf("ROUNDS", 3);
const partitions = 4;
const goal = 1.03;
/** Time for samples, one in 5 s, also when the messages are few. */
const leastMs = 10_500;
const preload = `--import=${pathToFileURL(fileURLToPath(new URL("without-history.ts", import.meta.url)))}`;

export async function run(): Promise<BenchResult> {
  await using kafka = await startKafka({ heapMb: 1024 });
  await using tool = new KafkaTool(kafka);
  await using recording = await serve();
  await using silent = await serve({ env: { NODE_OPTIONS: preload } });
  const loads = { with: await loader(recording, true), without: await loader(silent, false) };
  await tool.topic("bench", partitions);
  for (let from = 0; from < rows; from += 20_000) {
    const ids = Array.from({ length: Math.min(20_000, rows - from) }, (_, at) => from + at);
    await tool.send(ids.map((id) => ({ topic: "bench", partition: id % partitions, value: jsonMessage(id, 200) })));
  }
  const spent = { with: [] as Spent[], without: [] as Spent[] };
  for (let turn = 0; turn < rounds; turn += 1) {
    // Each of them is the first one as often as the other.
    const order = turn % 2 === 0 ? (["with", "without"] as const) : (["without", "with"] as const);
    for (const which of order) spent[which].push(await loads[which](kafka.brokers));
  }
  const of = (which: "with" | "without", part: keyof Spent) => median(spent[which].map((one) => one[part]));
  const line = (what: string, part: keyof Spent) => ({
    what,
    "with history": round(of("with", part)),
    "without history": round(of("without", part)),
    ratio: round(of("with", part) / of("without", part), 3),
  });
  // Histories run no code in a worker: the difference between its loads is noise, which would hide what they cost.
  const worker = median([...spent.with, ...spent.without].map((one) => one.worker));
  const ratio = round((worker + of("with", "controlPlane")) / (worker + of("without", "controlPlane")), 3);
  return {
    rows: [
      line("control plane, CPU s per million rows", "controlPlane"),
      line("worker, CPU s per million rows", "worker"),
      line("wall s", "wall"),
    ],
    summary: { ok: ratio <= goal, ratio, rows, rounds, cpuSeconds: round(worker + of("with", "controlPlane")) },
  };
}

type Spent = { readonly controlPlane: number; readonly worker: number; readonly wall: number };

/** Prepares loads of the topic with one server. The load returns CPU seconds per million rows. */
async function loader(served: Served, records: boolean): Promise<(brokers: string) => Promise<Spent>> {
  const service = await runningService(served, { idleScaling: false });
  const pid = served.process.pid as number;
  const perMillion = (seconds: number) => (seconds * 1e6) / rows;
  const workers = async () => (await served.api.getSystem({ params: {} })).workers;
  return async (brokers) => {
    const before = new Map((await workers()).map((worker) => [worker.pid, cpuSecondsOf(worker.pid)]));
    const [cpu, begun] = [cpuSecondsOf(pid), performance.now()];
    const id = await createPipe(served, service, kafkaBody({ brokers }, "bench", "bench"));
    await untilLoaded(served, service, id, begun);
    const wall = (performance.now() - begun) / 1000;
    const controlPlane = perMillion(cpuSecondsOf(pid) - cpu);
    const own = (await workers()).filter(({ pipes }) => pipes.includes(id));
    if (own.length === 0) throw new Error("the pipe has no worker");
    const worker = perMillion(own.reduce((sum, one) => sum + cpuSecondsOf(one.pid) - (before.get(one.pid) ?? 0), 0));
    const recorded = existsSync(join(served.dataDir, "history", "pipes", id));
    if (recorded !== records) throw new Error(`a history ${recorded ? "was" : "was not"} recorded`);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
    await until("the worker ended", async () => !(await workers()).some(({ pipes }) => pipes.includes(id)));
    await query(service, "DROP TABLE bench SYNC");
    return { controlPlane, worker, wall };
  };
}

async function untilLoaded(served: Served, service: BenchService, id: string, begun: number): Promise<void> {
  for (;;) {
    const count = Number(await query(service, "SELECT count() FROM bench").catch(() => 0));
    if (count >= rows && performance.now() - begun >= leastMs) return;
    const { state, lastError } = await details(served, service, id);
    if (state === "Failed") throw new Error(lastError);
    await delay(100);
  }
}
