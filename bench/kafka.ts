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
import { type BenchService, query, runningService, type Served, serve } from "../harness/serve.ts";
import { type BenchResult, median, round } from "./bench.ts";

const partitions = 4;
const run = promisify(execFile);
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** One message of about `bytes` bytes: two wanted fields and an ignored one. */
export function jsonMessage(id: number, bytes: number): string {
  const head = `{"id":${id},"name":"name ${(id * 2_654_435_761) % 1_000_003}","payload":"`;
  return `${head}${"x".repeat(Math.max(0, bytes - head.length - 2))}"}`;
}

/**
 * Rows per second from a full topic into a MergeTree table: ours, the engine's own Kafka engine, and the limits of
 * both.
 */
export async function throughput(messageBytes: number, rows: number, rounds: number): Promise<BenchResult> {
  await using kafka = await startKafka({ heapMb: 1024 });
  await using tool = new KafkaTool(kafka);
  await tool.topic("bench", partitions);
  const dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "millrace-bench-"));
  const file = join(dir, "messages.json");
  try {
    const bytes = await fill(tool, file, messageBytes, rows);
    const seconds = {
      pipe: [] as number[],
      first: [] as number[],
      engine: [] as number[],
      consumer: [] as number[],
      parse: [] as number[],
    };
    await using served = await serve();
    const service = await runningService(served, { idleScaling: false });
    for (let turn = 0; turn < rounds; turn += 1) {
      seconds.engine.push(
        await timed("node", [here("kafka-engine-peer.ts"), "kafka", kafka.brokers, "bench", String(rows)]),
      );
      seconds.consumer.push(
        await timed("java", ["-cp", `${jars}/*`, here("KafkaRawConsumer.java"), kafka.brokers, "bench"]),
      );
      seconds.parse.push(await timed("node", [here("kafka-engine-peer.ts"), "file", file]));
      const { all, first } = await timePipe(served, service, kafka.brokers, `bench_${turn}`, rows);
      seconds.pipe.push(all);
      seconds.first.push(first);
    }
    return report(seconds, rows, bytes);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function report(
  seconds: Readonly<Record<"pipe" | "first" | "engine" | "consumer" | "parse", number[]>>,
  rows: number,
  bytes: number,
): BenchResult {
  const line = (what: string, samples: readonly number[]) => ({
    what,
    seconds: round(median(samples)),
    rowsPerSecond: Math.round(rows / median(samples)),
    mbPerSecond: round(bytes / 1e6 / median(samples), 1),
  });
  const pipe = median(seconds.pipe);
  const lower = Math.max(median(seconds.consumer), median(seconds.parse));
  return {
    rows: [
      line("pipe, from create to the last row", seconds.pipe),
      line("the engine's Kafka table engine", seconds.engine),
      line("Kafka's consumer, messages thrown away", seconds.consumer),
      line("the engine's JSON parser, file()", seconds.parse),
    ],
    summary: {
      ratio: round(median(seconds.engine) / pipe),
      ofLower: round(lower / pipe),
      rowsPerSecond: Math.round(rows / pipe),
      mbPerSecond: round(bytes / 1e6 / pipe, 1),
      firstRowSeconds: round(median(seconds.first)),
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

async function timed(program: "node" | "java", args: readonly string[]): Promise<number> {
  const { stdout } = await run(program === "node" ? process.execPath : program, args, { maxBuffer: 2 ** 20 });
  return Number(stdout.trim().split("\n").at(-1));
}

async function timePipe(
  served: Served,
  service: BenchService,
  brokers: string,
  table: string,
  rows: number,
): Promise<{ all: number; first: number }> {
  const started = performance.now();
  const id = await createPipe(served, service, kafkaBody({ brokers }, "bench", table));
  let first: number | undefined;
  for (;;) {
    const seen = Number(await query(service, `SELECT count() FROM ${table}`).catch(() => 0));
    if (seen > 0) first ??= (performance.now() - started) / 1000;
    if (seen >= rows) break;
    const pipe = await details(served, service, id);
    if (pipe.state === "Failed") throw new Error(pipe.lastError);
    await delay(50);
  }
  const all = (performance.now() - started) / 1000;
  const [count, distinct] = (await query(service, `SELECT count(), uniqExact(id) FROM ${table}`))
    .split("\t")
    .map(Number);
  if (count !== rows || distinct !== rows) throw new Error(`${table} has ${count} rows, ${distinct} ids, not ${rows}`);
  await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  await query(service, `DROP TABLE ${table} SYNC`);
  return { all, first: first as number };
}
