/** What it costs when operators look: lists of many pipes, polled by ten clients, and the history of one pipe. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { type Served, serve } from "../harness/serve.ts";
import { HistoryStore, sampleSeconds } from "../src/store/saved/history.ts";
import { pipeSeries } from "../src/store/saved/history-series.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { seedPipes } from "./many-pipes.ts";

export const description =
  "1,000 pipes and 100 services, ten clients that ask for both lists every 2 s; CPU of one unchanged poll against a changed one";

const [services, pipes, clients] = [100, 1_000, 10];
const pollEveryMs = 2_000;
const phaseMs = 10_000;
const singlePolls = 300;

export async function run(): Promise<BenchResult> {
  const history = historyCost();
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-operators-"));
  try {
    const first = await serve({ dataDir, keepData: true });
    await first.stop();
    await seedPipes(dataDir, first.credentials.organizationId, { services, pipes });
    await using served = await serve({ dataDir, keepData: true });
    return await measure(served, history);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measure(served: Served, history: ReturnType<typeof historyCost>): Promise<BenchResult> {
  const get = getter(served);
  const warm = await get("/pipes?limit=100");
  for (let i = 0; i < 50; i += 1) await get("/pipes?limit=100", warm.tag);
  const unchanged = await cpuOf(served, async () => {
    for (let i = 0; i < singlePolls; i += 1) await get("/pipes?limit=100", warm.tag);
  });
  const known = await get("/services");
  const listed = await cpuOf(served, async () => {
    for (let i = 0; i < singlePolls; i += 1) await get("/services", known.tag);
  });
  // A list of its own each time: nothing is cached.
  const changed = await cpuOf(served, async () => {
    for (let i = 0; i < singlePolls; i += 1) await get(`/pipes?limit=100&name=${"%20".repeat(i % 100)}${i}`);
  });
  const idle = await cpuOf(served, () => delay(phaseMs));
  const latencies: number[] = [];
  const polling = Array.from({ length: clients }, () => new Map<string, string>());
  for (const tags of polling) await pollOnce(get, tags, []);
  const polled = await cpuOf(served, async () => {
    await Promise.all(polling.map((tags, i) => poll(get, tags, i, latencies)));
  });
  const share = (polled.cpuMs - idle.cpuMs * (polled.ms / idle.ms)) / polled.ms;
  const pollMs = unchanged.cpuMs / singlePolls;
  const changedMs = changed.cpuMs / singlePolls;
  return {
    rows: [
      { what: "one unchanged poll of 100 pipes, CPU ms", value: round(pollMs, 3) },
      { what: "one unchanged poll of 100 services, CPU ms", value: round(listed.cpuMs / singlePolls, 3) },
      { what: "one list made anew, CPU ms", value: round(changedMs, 3) },
      { what: "idle control plane, share of a core", value: round(idle.cpuMs / idle.ms, 4) },
      { what: "polls of ten clients, share of a core", value: round(share, 4) },
      { what: "p99 of a poll, ms", value: round(percentile(latencies, 99)) },
      { what: "history: disk of a pipe, bytes", value: history.diskBytes },
      { what: "history: written for a pipe per day, bytes", value: history.bytesPerDay },
      { what: "history: one sample, CPU us", value: round(history.sampleUs, 1) },
    ],
    summary: {
      ratio: round(pollMs / changedMs, 3),
      pollCpuMs: round(pollMs, 3),
      share: round(share, 4),
      p99Ms: round(percentile(latencies, 99)),
      historyBytes: history.diskBytes,
      historyBytesPerDay: history.bytesPerDay,
    },
  };
}

type Get = (path: string, tag?: string) => Promise<{ readonly tag: string; readonly status: number }>;

function getter({ credentials }: Served): Get {
  const { baseUrl, organizationId, keyId, keySecret } = credentials;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  return async (path, tag) => {
    const headers = { authorization, ...(tag === undefined ? {} : { "if-none-match": tag }) };
    const response = await fetch(`${baseUrl}/v1/organizations/${organizationId}${path}`, { headers });
    await response.arrayBuffer();
    if (response.status !== 200 && response.status !== 304) throw new Error(`${path}: ${response.status}`);
    return { tag: response.headers.get("etag") ?? "", status: response.status };
  };
}

/** One client: both lists every two seconds, with the tags that it has. */
async function poll(get: Get, tags: Map<string, string>, client: number, latencies: number[]): Promise<void> {
  await delay((client * pollEveryMs) / clients);
  for (let left = phaseMs; left > 0; left -= pollEveryMs) {
    await pollOnce(get, tags, latencies);
    await delay(pollEveryMs);
  }
}

async function pollOnce(get: Get, tags: Map<string, string>, latencies: number[]): Promise<void> {
  for (const path of ["/pipes?limit=1000", "/services"]) {
    const begun = performance.now();
    const { tag } = await get(path, tags.get(path));
    latencies.push(performance.now() - begun);
    tags.set(path, tag);
  }
}

/** CPU and wall time of the control plane while `work` runs, in ms. */
async function cpuOf(served: Served, work: () => Promise<unknown>): Promise<{ cpuMs: number; ms: number }> {
  const pid = served.process.pid as number;
  const [cpu, begun] = [cpuSecondsOf(pid), performance.now()];
  await work();
  return { cpuMs: (cpuSecondsOf(pid) - cpu) * 1000, ms: performance.now() - begun };
}

/** A day of samples of one pipe. */
function historyCost() {
  const dir = mkdtempSync(join(tmpdir(), "millrace-history-"));
  const history = new HistoryStore(dir, pipeSeries);
  const samples = 86_400 / sampleSeconds;
  const cpu = process.cpuUsage();
  for (let i = 0; i < samples; i += 1) {
    history.add("pipe", i * sampleSeconds * 1000, { rowsPerSecond: i, bytesPerSecond: i, lagSeconds: 1, workers: 1 });
  }
  const { user, system } = process.cpuUsage(cpu);
  history.close();
  const diskBytes = statSync(join(dir, "pipe")).blocks * 512;
  rmSync(dir, { recursive: true, force: true });
  // Each sample is one record of its own and one of its minute.
  return { diskBytes, bytesPerDay: samples * 2 * 64, sampleUs: (user + system) / samples };
}
