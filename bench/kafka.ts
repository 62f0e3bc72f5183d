/** Shared by the Kafka benchmarks: a broker with a topic full of JSON, our pipe's time, and the peers' times. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { jars, startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody } from "../harness/kafka/pipes.ts";
import { createPipe, details } from "../harness/pipes.ts";
import { endedChildrenCpuSeconds } from "../harness/process-cpu.ts";
import { type BenchService, query, runningService, type Served, serve } from "../harness/serve.ts";
import { type BenchResult, type Cost, costOf, costRow, cpuUsOf, leastCost, median, round } from "./bench.ts";

const partitions = 4;
const run = promisify(execFile);
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** One message of about `bytes` bytes: two wanted fields and an ignored one. */
export function jsonMessage(id: number, bytes: number): string {
  const head = `{"id":${id},"name":"name ${(id * 2_654_435_761) % 1_000_003}","payload":"`;
  return `${head}${"x".repeat(Math.max(0, bytes - head.length - 2))}"}`;
}

/**
 * Rows per second from a full topic into a MergeTree table: ours, the engine's own Kafka engine, and what both must
 * do at least: read the topic, and store the rows.
 */
export async function throughput(messageBytes: number, rows: number, rounds: number): Promise<BenchResult> {
  await using kafka = await startKafka({ heapMb: 1024 });
  await using tool = new KafkaTool(kafka);
  await tool.topic("bench", partitions);
  const dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "millrace-bench-"));
  const file = join(dir, "messages.json");
  try {
    const bytes = await fill(tool, file, messageBytes, rows);
    const costs = { pipe: [] as Cost[], engine: [] as Cost[], least: [] as Cost[] };
    const first: number[] = [];
    await using served = await serve();
    const service = await runningService(served, { idleScaling: false });
    for (let turn = 0; turn < rounds; turn += 1) {
      if (turn === 0) costs.engine.push(await timeEngine(kafka.brokers, rows));
      costs.least.push(
        await timed(
          ["java", "-cp", `${jars}/*`, here("KafkaRawConsumer.java"), kafka.brokers, "bench"],
          [process.execPath, here("kafka-engine-peer.ts"), "file", file],
        ),
      );
      const { firstSeconds, ...cost } = await timePipe(served, service, kafka.brokers, `bench_${turn}`, rows);
      costs.pipe.push(cost);
      first.push(firstSeconds);
    }
    return report(costs, first, rows, bytes);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Once: a goal does not stand on it, and it takes as long as four rounds of the others. */
const timeEngine = (brokers: string, rows: number) =>
  timed([process.execPath, here("kafka-engine-peer.ts"), "kafka", brokers, "bench", String(rows)]);

function report(
  costs: Readonly<Record<"pipe" | "engine" | "least", readonly Cost[]>>,
  first: readonly number[],
  rows: number,
  bytes: number,
): BenchResult {
  const secondsOf = (which: keyof typeof costs) => leastCost(costs[which]).seconds;
  const pipe = secondsOf("pipe");
  return {
    rows: [
      costRow("pipe, from create to the last row", costs.pipe, rows),
      costRow("the engine's Kafka table engine, with its process", costs.engine, rows),
      costRow("Kafka's consumer, and beside it the engine that stores the same rows of a file", costs.least, rows),
    ],
    summary: {
      ratio: round(secondsOf("engine") / pipe),
      ofLeast: round(secondsOf("least") / pipe),
      rowsPerSecond: Math.round(rows / pipe),
      mbPerSecond: round(bytes / 1e6 / pipe, 1),
      firstRowSeconds: round(median(first)),
      cpuUs: cpuUsOf(costs.pipe, rows),
      rows,
    },
  };
}

/** Writes the same messages into the topic and, one per line, into the file. Returns their bytes. */
async function fill(tool: KafkaTool, file: string, messageBytes: number, rows: number): Promise<number> {
  const out = createWriteStream(file);
  let bytes = 0;
  for (let from = 0; from < rows; from += 20_000) {
    const values = Array.from({ length: Math.min(20_000, rows - from) }, (_, at) =>
      jsonMessage(from + at, messageBytes),
    );
    await tool.send(values.map((value, at) => ({ topic: "bench", partition: at % partitions, value })));
    const text = `${values.join("\n")}\n`;
    bytes += text.length;
    if (!out.write(text)) await once(out, "drain");
  }
  out.end();
  await finished(out);
  return bytes;
}

/**
 * Programs side by side: each says how long it took, without its start, and the slower one counts. The processor time
 * is that of the whole processes.
 */
async function timed(...programs: readonly (readonly [string, ...string[]])[]): Promise<Cost> {
  const before = endedChildrenCpuSeconds();
  const outputs = await Promise.all(programs.map(([program, ...args]) => run(program, args, { maxBuffer: 2 ** 20 })));
  const seconds = outputs.map(({ stdout }) => Number(stdout.trim().split("\n").at(-1)));
  return { seconds: Math.max(...seconds), cpuSeconds: endedChildrenCpuSeconds() - before };
}

/**
 * Until every row is there, and the seconds until the first one. Looking takes processors from the pipe: it is rare
 * while most of the rows are missing.
 */
async function timePipe(
  served: Served,
  service: BenchService,
  brokers: string,
  table: string,
  rows: number,
): Promise<Cost & { readonly firstSeconds: number }> {
  const started = performance.now();
  let id = "";
  let first: number | undefined;
  const loaded = async () => {
    id = await createPipe(served, service, kafkaBody({ brokers }, "bench", table));
    for (;;) {
      const seen = Number(await query(service, `SELECT count() FROM ${table}`).catch(() => 0));
      if (seen > 0) first ??= (performance.now() - started) / 1000;
      if (seen >= rows) return;
      const pipe = await details(served, service, id);
      if (pipe.state === "Failed") throw new Error(pipe.lastError);
      await delay(seen === 0 ? 50 : Math.max(20, 500 * (1 - seen / rows)));
    }
  };
  const cost = await costOf(loaded, { pid: served.process.pid });
  const [count, distinct] = (await query(service, `SELECT count(), uniqExact(id) FROM ${table}`))
    .split("\t")
    .map(Number);
  if (count !== rows || distinct !== rows) throw new Error(`${table} has ${count} rows, ${distinct} ids, not ${rows}`);
  await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  await query(service, `DROP TABLE ${table} SYNC`);
  return { ...cost, firstSeconds: first as number };
}
