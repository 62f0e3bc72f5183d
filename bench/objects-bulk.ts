/**
 * Large files: a pipe, the engine's own insert of the same files, and the same of an engine without the address policy,
 * in turns; and how the control plane answers while the pipe reads.
 */
import { setTimeout as delay } from "node:timers/promises";
import { query, type Served } from "../harness/serve.ts";
import { type BenchResult, type Cost, costRow, cpuUsOf, medianCost, percentile, round } from "./bench.ts";
import { startObjectsBench, timeEngine, timePipe, writeFiles } from "./objects.ts";

const rounds = 3;

export async function bulk(format: string, suffix: string, files: number, rowsPerFile: number): Promise<BenchResult> {
  await using bench = await startObjectsBench();
  await writeFiles(bench, format, suffix, files, rowsPerFile);
  const { bare, served, service } = bench;
  const rows = files * rowsPerFile;
  const pattern = `data/*.${suffix}`;
  const work = { format, pattern, rows };
  const costs = { pipe: [] as Cost[], engine: [] as Cost[], bare: [] as Cost[] };
  const healthMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { pid } = bare;
    costs.bare.push(await timeEngine(bench, { ...work, pid, ask: (sql) => bare.client.text(sql) }));
    const own = { ...work, pid: served.process.pid, ask: (sql: string) => query(service, sql) };
    costs.engine.push(await timeEngine(bench, own));
    const watched = new AbortController();
    const piped = timePipe(bench, pattern, rows).finally(() => watched.abort());
    const [cost] = await Promise.all([piped, watchHealth(served, healthMs, watched.signal)]);
    costs.pipe.push(cost);
  }
  const secondsOf = (which: keyof typeof costs) => medianCost(costs[which]).seconds;
  return {
    rows: [
      costRow("engine without the address policy", costs.bare, rows),
      costRow("engine of a service: INSERT SELECT FROM s3", costs.engine, rows),
      costRow("pipe, from create to Completed", costs.pipe, rows),
    ],
    summary: {
      ratio: round(secondsOf("bare") / secondsOf("pipe"), 3),
      policyRatio: round(secondsOf("bare") / secondsOf("engine"), 3),
      ...{ rows, files, bareSeconds: round(secondsOf("bare")), engineSeconds: round(secondsOf("engine")) },
      ...{ pipeSeconds: round(secondsOf("pipe")), healthP99Ms: round(percentile(healthMs, 99), 1) },
      ...{ bareCpuUs: cpuUsOf(costs.bare, rows), engineCpuUs: cpuUsOf(costs.engine, rows) },
      pipeCpuUs: cpuUsOf(costs.pipe, rows),
    },
  };
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
