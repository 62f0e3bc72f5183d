/** Large files, and how the control plane answers while the pipe reads them. */
import { setTimeout as delay } from "node:timers/promises";
import type { Served } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { inTurns, resultOf, startObjectsBench, writeFiles } from "./objects.ts";

export async function bulk(format: string, suffix: string, files: number, rowsPerFile: number): Promise<BenchResult> {
  await using bench = await startObjectsBench();
  await writeFiles(bench, format, suffix, files, rowsPerFile);
  const rows = files * rowsPerFile;
  const healthMs: number[] = [];
  const watch = (signal: AbortSignal) => watchHealth(bench.served, healthMs, signal);
  const turns = await inTurns(bench, { format, pattern: `data/*.${suffix}`, rows }, watch);
  const { summary, ...result } = resultOf(turns, rows, "rows");
  return { ...result, summary: { ...summary, rows, files, healthP99Ms: round(percentile(healthMs, 99), 1) } };
}

/** Milliseconds until `GET /health` is answered, fifty times a second. */
async function watchHealth({ credentials }: Served, times: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const begun = performance.now();
    await (await fetch(`${credentials.baseUrl}/health`)).arrayBuffer();
    times.push(performance.now() - begun);
    await delay(20);
  }
}
