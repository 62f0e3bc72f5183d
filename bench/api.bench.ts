import { fork } from "node:child_process";
import { once } from "node:events";
import autocannon from "autocannon";
import { startTestStore, type TestStore } from "../harness/objects/object-store.ts";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { type BenchService, runningService, type Served, serve, until } from "../harness/serve.ts";
import type { Asked } from "./bare-server.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description =
  "authenticated pipe list: requests/s against a bare node:http server that answers the same bytes";

const seconds = 2;
const rounds = 10;

export async function run(): Promise<BenchResult> {
  await using served = await serve({ env: { MILLRACE_RATE_LIMIT: "100000000" } });
  await using store = await startTestStore();
  const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
  const service = await runningService(served, { idleScaling: false });
  await createPipes(served, service, store);
  const url = `${baseUrl}/v1/organizations/${organizationId}/services/${service.id}/pipes`;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const response = await fetch(url, { headers: { authorization } });
  const text = await response.text();
  const headers = [...response.headers].filter(([name]) => !written.includes(name)).flat();
  const bare = await peer({ text });
  const least = await peer({ text, headers });

  const ours: Load[] = [];
  const theirs: Load[] = [];
  const leasts: Load[] = [];
  for (let i = 0; i < rounds; i += 1) {
    theirs.push(await load(bare.url, authorization, bare.pid));
    leasts.push(await load(least.url, authorization, least.pid));
    ours.push(await load(url, authorization, served.process.pid));
  }
  for (const one of [bare, least]) one.stop();
  const row = (name: string, results: Load[]) => ({
    server: name,
    "req/s": Math.round(median(results.map((result) => result.requests.average))),
    "CPU us of a request": round(leastCpuUs(results), 1),
    "p50 ms": median(results.map((result) => result.latency.p50)),
    "p99 ms": median(results.map((result) => result.latency.p99)),
    errors: results.reduce((sum, result) => sum + result.errors + result.non2xx, 0),
  });
  const own = row("millrace", ours);
  const rows = [row("bare node:http", theirs), row("with the interface's headers and ids", leasts), own];
  return {
    rows,
    summary: {
      ratio: round(median(ours.map(({ requests }, i) => requests.average / (theirs[i] as Load).requests.average))),
      cpuRatio: round(leastCpuUs(theirs) / leastCpuUs(ours)),
      cpuOfLeast: round(leastCpuUs(leasts) / leastCpuUs(ours)),
      ...{ cpuUs: own["CPU us of a request"], reqPerSecond: own["req/s"], p99Ms: own["p99 ms"], errors: own.errors },
    },
  };
}

/** Headers that node:http writes by itself. */
const written = ["connection", "content-length", "date", "keep-alive"];

async function peer(asked: Asked) {
  const child = fork(new URL("./bare-server.ts", import.meta.url));
  child.send(asked);
  const [port] = (await once(child, "message")) as [number];
  return { url: `http://127.0.0.1:${port}/`, pid: child.pid, stop: () => child.disconnect() };
}

type Load = autocannon.Result & { readonly cpuUs: number };

/** The round that was disturbed least: what others on the machine do to the caches can only add to processor time. */
function leastCpuUs(loads: readonly Load[]): number {
  return Math.min(...loads.map(({ cpuUs }) => cpuUs));
}

/** Requests for a few seconds. The processor time is that of the server's own process. */
async function load(url: string, authorization: string, pid: number | undefined): Promise<Load> {
  const before = cpuSecondsOf(pid as number);
  const result = await autocannon({ url, connections: 16, duration: seconds, headers: { authorization } });
  return { ...result, cpuUs: ((cpuSecondsOf(pid as number) - before) * 1e6) / result.requests.total };
}

/** A typical service: five idle pipes. */
async function createPipes(served: Served, service: BenchService, store: TestStore): Promise<void> {
  await store.put("a.json", '{"a": 1}');
  const objectStorage = { url: `${store.endpoint}/${store.bucket}/*.json`, accessKey: store.accessKey };
  for (let i = 0; i < 5; i += 1) {
    const destination = { table: `t${i}`, columns: [{ name: "a", type: "UInt8" }] };
    const body = { name: `Pipe ${i}`, source: { objectStorage }, destination };
    const pipe = await served.api.createPipe({ params: service.params, body });
    const params = { ...service.params, pipeId: pipe.id };
    await until("completed", async () => (await served.api.getPipe({ params })).state === "Completed");
  }
}
