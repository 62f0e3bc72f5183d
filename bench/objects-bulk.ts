/** Large files, and how the control plane answers while the pipe reads them. */
import { setTimeout as delay } from "node:timers/promises";
import type { Served } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { inTurns, resultOf, startObjectsBench, timePipe, writeFiles } from "./objects.ts";

const turns = 5;

export async function bulk(format: string, suffix: string, files: number, rowsPerFile: number): Promise<BenchResult> {
  await using bench = await startObjectsBench();
  await writeFiles(bench, format, suffix, files, rowsPerFile);
  const work = { format, pattern: `data/*.${suffix}`, rows: files * rowsPerFile };
  const { summary, ...result } = resultOf(await inTurns(bench, work, turns), work.rows, "rows");
  // A run of its own: these requests take processors from the pipe.
  const ended = new AbortController();
  const [healthMs] = await Promise.all([
    healthUntil(ended.signal, bench.served),
    timePipe(bench, work).finally(() => ended.abort()),
  ]);
  return {
    ...result,
    summary: { ...summary, rows: work.rows, files, healthP99Ms: round(percentile(healthMs, 99), 1) },
  };
}

/** Milliseconds until `GET /health` is answered, fifty times a second. */
async function healthUntil(signal: AbortSignal, { credentials }: Served): Promise<number[]> {
  const times: number[] = [];
  while (!signal.aborted) {
    const begun = performance.now();
    await (await fetch(`${credentials.baseUrl}/health`)).arrayBuffer();
    times.push(performance.now() - begun);
    await delay(20);
  }
  return times;
}
