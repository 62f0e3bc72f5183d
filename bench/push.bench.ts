import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { type PushAddress, pushPipe } from "../harness/push/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import type { Asked, Interface } from "./bare-append.ts";
import { type BenchResult, percentile, round } from "./bench.ts";

export const description =
  "rows that 64 clients send, durable before the answer, against a bare server that appends and syncs the same bytes";

const connections = 64;
const seconds = 4;
/** Each server gets its load so many times, in turn with the others. */
const rounds = 4;
const roundSeconds = 2;
const sizes = [1, 100, 10_000];
/** Rows in bodies of 100 that two cores must take. */
const wantedPerSecond = 50_000;
/** On a machine that does other things too. */
const drainMs = 600_000;

type Load = { readonly rowsPerSecond: number; readonly p99Ms: number; readonly cpuMsPerRequest: number };

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const to = await pushPipe(served, service, "pushed", { body: { settings: { streaming_max_insert_wait_ms: 1_000 } } });
  const bare = await bareServer({ path: join(served.dataDir, "bare") });
  const least = await bareServer({ path: join(served.dataDir, "least"), interface: await interfaceOf(to) });
  const lines: Record<string, string | number>[] = [];
  const ratios: number[] = [];
  const cpuRatios: number[] = [];
  const cpuOfLeast: number[] = [];
  let of100 = 0;
  for (const size of sizes) {
    const [peer, demanded, own] = await loads(size, [
      { to: { url: bare.url, key: "" }, pid: bare.pid },
      { to: { url: least.url, key: to.key }, pid: least.pid },
      { to, pid: served.process.pid as number },
    ]);
    cpuOfLeast.push(demanded.cpuMsPerRequest / own.cpuMsPerRequest);
    cpuRatios.push(peer.cpuMsPerRequest / own.cpuMsPerRequest);
    if (size === 100) of100 = own.rowsPerSecond;
    ratios.push(own.rowsPerSecond / peer.rowsPerSecond);
    const cpu = {
      "our CPU ms": round(own.cpuMsPerRequest, 3),
      "least CPU ms": round(demanded.cpuMsPerRequest, 3),
      "bare CPU ms": round(peer.cpuMsPerRequest, 3),
    };
    lines.push({
      "rows in a body": size,
      "our rows/s": Math.round(own.rowsPerSecond),
      "bare rows/s": Math.round(peer.rowsPerSecond),
      ratio: round(own.rowsPerSecond / peer.rowsPerSecond),
      ...cpu,
      "p99 ms": own.p99Ms,
    });
    await drained(served, service, to);
  }
  const half = await paced(to, wantedPerSecond / 100 / 2);
  const greatestHalf = await paced(to, of100 / 100 / 2);
  const bareHalf = await paced({ url: bare.url, key: "" }, of100 / 100 / 2);
  for (const one of [bare, least]) one.end();
  await drained(served, service, to);
  const inserted = await inserts(service);
  const parts = await smallSenders(served, service);
  return {
    rows: lines,
    summary: {
      ratio: round(Math.min(...ratios)),
      cpuRatio: round(Math.min(...cpuRatios)),
      cpuOfLeast: round(Math.min(...cpuOfLeast)),
      rowsPerSecond: Math.round(of100),
      insertRowsPerSecond: Math.round(inserted),
      p99HalfLoadMs: round(percentile(half, 99)),
      p99HalfOfGreatestMs: round(percentile(greatestHalf, 99)),
      bareP99HalfOfGreatestMs: round(percentile(bareHalf, 99)),
      partsPerSecond: round(parts),
    },
  };
}

/** About 300 bytes a row. */
function bodyOf(size: number): Buffer {
  const row = (id: number) => JSON.stringify({ id, name: `name ${id}`, padding: "x".repeat(260) });
  return Buffer.from(Array.from({ length: size }, (_, id) => row(id)).join("\n"));
}

type Target = { readonly to: Pick<PushAddress, "url" | "key">; readonly pid: number };

/** The rounds that were disturbed least: what others on the machine do can only add to processor time. */
async function loads(size: number, targets: readonly [Target, Target, Target]): Promise<[Load, Load, Load]> {
  const all: Load[][] = targets.map(() => []);
  for (let i = 0; i < rounds; i += 1) {
    for (const [at, target] of targets.entries()) all[at]?.push(await load(target, size));
  }
  const leastOf = (own: readonly Load[]) => own.reduce((a, b) => (b.cpuMsPerRequest < a.cpuMsPerRequest ? b : a));
  return all.map(leastOf) as [Load, Load, Load];
}

async function load({ to: { url, key }, pid }: Target, size: number): Promise<Load> {
  const before = cpuSecondsOf(pid);
  const result = await autocannon({
    ...{ url, connections, duration: roundSeconds, method: "POST", body: bodyOf(size) },
    headers: { authorization: key, "content-type": "application/x-ndjson" },
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests failed`);
  const requests = result["2xx"];
  return {
    rowsPerSecond: (requests * size) / result.duration,
    p99Ms: result.latency.p99,
    cpuMsPerRequest: ((cpuSecondsOf(pid) - before) * 1_000) / requests,
  };
}

/**
 * Milliseconds until each request was answered, counted from when it was due: so many in a second, at equal distances,
 * whatever the ones before take. autocannon sends those of a second at once, which is the greatest load for part of it.
 */
async function paced({ url, key }: Pick<PushAddress, "url" | "key">, perSecond: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const body = bodyOf(100);
  const headers = { authorization: key, "content-type": "application/x-ndjson" };
  const start = performance.now();
  const post = async (dueMs: number) => {
    const sent = request(url, { method: "POST", agent, headers: { ...headers, "content-length": body.length } });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    await once(response.resume(), "end");
    if (response.statusCode !== 202) throw new Error(`a request was answered with ${response.statusCode}`);
    return performance.now() - start - dueMs;
  };
  const answers: Promise<number>[] = [];
  for (const count = Math.floor(perSecond * seconds); answers.length < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - start) / 1_000) * perSecond));
    while (answers.length < due) answers.push(post((answers.length * 1_000) / perSecond));
    await delay(1);
  }
  const times = await Promise.all(answers);
  agent.destroy();
  return times;
}

async function drained(served: Served, service: BenchService, { pipeId }: PushAddress): Promise<void> {
  await until(
    "everything is loaded",
    async () => {
      const { progress } = await served.api.getPipe({ params: { ...service.params, pipeId } });
      return progress.lagMessages === 0;
    },
    drainMs,
  );
}

/** The same bodies of 100 rows as INSERT statements. */
async function inserts(service: BenchService): Promise<number> {
  await query(service, "CREATE TABLE inserted (id UInt64, name String) ORDER BY id");
  const sql = encodeURIComponent("INSERT INTO inserted FORMAT JSONEachRow");
  const result = await autocannon({
    url: `http://${service.host}:${service.port}/?query=${sql}&input_format_skip_unknown_fields=1`,
    ...{ connections, duration: seconds, method: "POST", body: bodyOf(100) },
    headers: { "x-clickhouse-user": "default", "x-clickhouse-key": service.password },
  });
  return (result["2xx"] * 100) / result.duration;
}

/** Parts per second while 1,000 clients send one row a second each, until the last row is in its part. */
async function smallSenders(served: Served, service: BenchService): Promise<number> {
  const to = await pushPipe(served, service, "small", { body: { settings: { streaming_max_insert_wait_ms: 1_000 } } });
  const started = performance.now();
  const result = await autocannon({
    ...{ url: to.url, connections: 1_000, duration: 10, overallRate: 1_000, method: "POST", body: bodyOf(1) },
    headers: { authorization: to.key },
  });
  await drained(served, service, to);
  const elapsed = (performance.now() - started) / 1_000;
  const count = await query(service, "SELECT count() FROM small");
  if (Number(count) < result["2xx"]) throw new Error(`${count} of ${result["2xx"]} rows are in the table`);
  const blocks = await query(service, "SELECT max(max_block_number) FROM system.parts WHERE table = 'small'");
  return Number(blocks) / elapsed;
}

/** What every answer has, from one that was given. */
async function interfaceOf({ url, key }: PushAddress): Promise<Interface> {
  const headers = { authorization: key, "content-type": "application/x-ndjson" };
  const response = await fetch(url, { method: "POST", headers, body: bodyOf(1) });
  const text = await response.text();
  const own = [...response.headers].filter(
    ([name]) => !["connection", "content-length", "date", "keep-alive"].includes(name),
  );
  const [, after = ""] = /^\{"requestId":"[^"]+"(.*:)\{/.exec(text) ?? [];
  return { authorization: key, headers: own.flat(), after };
}

async function bareServer(asked: Asked) {
  const child = fork(fileURLToPath(new URL("./bare-append.ts", import.meta.url)));
  child.send(asked);
  const [port] = await once(child, "message");
  return { url: `http://127.0.0.1:${port}/`, pid: child.pid as number, end: () => void child.disconnect() };
}
