import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { query, runningService, serve, until } from "../harness/serve.ts";
import { type BenchResult, type Cost, costOf, leastCost, percentile, round } from "./bench.ts";

export const description = "first query on an idle service, against the same query on a running one; idle memory";

const wakes = 20;

export async function run(): Promise<BenchResult> {
  const prepared = await measure({});
  const unprepared = await measure({ MILLRACE_STANDBY_ENGINES: "0" });
  const memory = await idleMemory();
  const row = (name: string, samples: number[]) => ({
    query: name,
    "p50 ms": round(percentile(samples, 50), 1),
    "p95 ms": round(percentile(samples, 95), 1),
    "max ms": round(Math.max(...samples), 1),
  });
  return {
    rows: [
      row("first on an idle service, its start prepared", prepared.cold),
      row("first on an idle service, its start not prepared", unprepared.cold),
      row("next on the running service", prepared.warm),
    ],
    summary: {
      ratio: round(percentile(prepared.cold, 50) / percentile(prepared.warm, 50)),
      p50Ms: round(percentile(prepared.cold, 50), 1),
      p95Ms: round(percentile(prepared.cold, 95), 1),
      unpreparedP50Ms: round(percentile(unprepared.cold, 50), 1),
      unpreparedP95Ms: round(percentile(unprepared.cold, 95), 1),
      ...{ cpuMs: prepared.cpuMs, unpreparedCpuMs: unprepared.cpuMs },
      ...memory,
    },
  };
}

type Measured = { readonly cold: number[]; readonly warm: number[]; readonly cpuMs: number };

/** `cpuMs`: processor time of a wake, until the query is answered. */
async function measure(env: Record<string, string>): Promise<Measured> {
  // A minute of idleTimeoutMinutes lasts 20 ms here, so that a service idles 100 ms after its last query.
  await using served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "20", ...env } });
  const service = await runningService(served, { idleTimeoutMinutes: 5 });
  await query(service, "CREATE TABLE t (a UInt64, b String) ORDER BY a");
  await query(service, "INSERT INTO t SELECT number, toString(number) FROM numbers(1000000)");
  const cold: number[] = [];
  const warm: number[] = [];
  const wakeCosts: Cost[] = [];
  for (let i = 0; i < wakes; i += 1) {
    await until("idle", async () => (await served.api.getService({ params: service.params })).state === "idle");
    // As long as the next start takes to be prepared; between two wakes in earnest lie minutes.
    await delay(1_000);
    const wake = await costOf(() => query(service, "SELECT count() FROM t"), { pid: served.process.pid });
    wakeCosts.push(wake);
    cold.push(wake.seconds * 1000);
    warm.push(await timed(() => query(service, "SELECT count() FROM t")));
  }
  return { cold, warm, cpuMs: round(leastCost(wakeCosts).cpuSeconds * 1000, 0) };
}

/** Resident memory a while after start, without load: of the control plane and of one running engine. */
async function idleMemory(): Promise<{ controlPlaneMb: number; engineMb: number }> {
  await using fresh = await serve();
  const service = await runningService(fresh, { idleScaling: false });
  await query(service, "SELECT 1");
  const pidFile = `${fresh.dataDir}/services/${service.id}/engine.pid`;
  const { pid } = JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number };
  return { controlPlaneMb: residentMb(fresh.process.pid as number), engineMb: residentMb(pid) };
}

function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kb) / 1024);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
