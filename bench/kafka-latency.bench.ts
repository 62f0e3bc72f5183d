/**
 * Time from producing a message until a query returns its row, at 1,000 messages per second and the lowest wait
 * setting.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody } from "../harness/kafka/pipes.ts";
import { createPipe, untilState } from "../harness/pipes.ts";
import { type BenchService, query, runningService, serve } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";

export const description = "produce-to-visible p50/p99 in ms at 1,000 msg/s, streaming_max_insert_wait_ms = 500";

const seconds = 20;
const perTick = 20;
const tickMs = 20;
const waitMs = 500;

export async function run(): Promise<BenchResult> {
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await tool.topic("latency", 2);
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const id = await createPipe(served, service, kafkaBody(kafka, "latency", "latency"));
  await untilState(served, service, id, "Running");
  const sent: number[] = [];
  const seen: number[] = [];
  const over = { producing: false };
  const watching = watch(service, seen, sent, over);
  const started = performance.now();
  for (let tick = 0; tick * tickMs < seconds * 1000; tick += 1) {
    const now = performance.now();
    const messages = Array.from({ length: perTick }, (_, at) => {
      const value = JSON.stringify({ id: sent.length + at, name: "x" });
      return { topic: "latency", partition: at % 2, value };
    });
    for (let at = 0; at < perTick; at += 1) sent.push(now);
    await tool.send(messages);
    await delay(Math.max(0, started + (tick + 1) * tickMs - performance.now()));
  }
  over.producing = true;
  await watching;
  // The first second is warm-up.
  const samples = sent.map((at, index) => (seen[index] as number) - at).slice(1_000);
  const p50 = round(percentile(samples, 50));
  const p99 = round(percentile(samples, 99));
  return {
    rows: [{ messages: samples.length, p50, p99, max: round(Math.max(...samples)) }],
    // Gathering costs half of the wait on average: 1 would be a pipe that adds nothing to it.
    summary: { ratio: round(waitMs / 2 / p50), p50, p99, perSecond: (1000 / tickMs) * perTick },
  };
}

/** Records for every id when a query first returned it. */
async function watch(service: BenchService, seen: number[], sent: readonly number[], over: { producing: boolean }) {
  for (let known = 0; !over.producing || known < sent.length; ) {
    const ids = await query(service, `SELECT id FROM latency WHERE id >= ${lowest(seen)}`).catch(() => "");
    const now = performance.now();
    for (const line of ids === "" ? [] : ids.split("\n")) {
      const id = Number(line);
      if (seen[id] === undefined) {
        seen[id] = now;
        known += 1;
      }
    }
    await delay(5);
  }
}

/** All ids below this one were seen. */
function lowest(seen: readonly number[]): number {
  let at = Math.max(0, seen.length - 5_000);
  while (at < seen.length && seen[at] !== undefined) at += 1;
  return at;
}
