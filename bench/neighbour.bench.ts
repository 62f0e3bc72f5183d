/**
 * How much a service at full load, and clients of it that mean harm, delay the tiny query of another service on the
 * same machine.
 */
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { random } from "../harness/random.ts";
import { type BenchService, runningService, serve } from "../harness/serve.ts";
import { type BenchResult, costOf, cpuUsOf, percentile, round } from "./bench.ts";

export const description =
  "a tiny query beside a service at full load, and beside one that is attacked, against the same query on a quiet machine";

const rounds = 600;
const hostileQueries = 16;
const warmUpMs = 2_000;
/** Connections of clients that say little, and of clients that send garbage without end. */
const restingConnections = 400;
const garbageConnections = 8;
const garbageEveryMs = 20;

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const quiet = await runningService(served, { idleScaling: false });
  const hostile = await runningService(served, { idleScaling: false });
  await tiny(quiet, 100);
  let alone: number[] = [];
  // With the engines at rest: of a small query, in all processes.
  const cost = await costOf(
    async () => {
      alone = await tiny(quiet, rounds);
    },
    { pid: served.process.pid },
  );
  const stop = new AbortController();
  const load = Array.from({ length: hostileQueries }, () => burn(hostile, stop.signal));
  await delay(warmUpMs);
  const beside = await tiny(quiet, rounds);
  const garbage = attack(hostile, stop.signal);
  await delay(warmUpMs);
  const attacked = await tiny(quiet, rounds);
  stop.abort();
  await Promise.all([...load, garbage]);
  const row = (work: string, samples: readonly number[]) => ({
    work,
    "p50 ms": round(percentile(samples, 50)),
    "p99 ms": round(percentile(samples, 99)),
  });
  const p99Ratio = (samples: readonly number[]) => round(percentile(samples, 99) / percentile(alone, 99));
  return {
    rows: [
      row("alone", alone),
      row(`beside ${hostileQueries} queries that take all they get`, beside),
      row(`the same with garbage and ${restingConnections} connections at that service's port`, attacked),
    ],
    summary: {
      ratio: p99Ratio(beside),
      attackedRatio: p99Ratio(attacked),
      aloneCpuUs: cpuUsOf([cost], rounds),
    },
  };
}

const agent = new Agent({ keepAlive: true });

async function tiny(service: BenchService, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const start = performance.now();
    await ask(service, "SELECT 1");
    samples.push(performance.now() - start);
  }
  return samples;
}

/** Computes until it is aborted. */
async function burn(service: BenchService, signal: AbortSignal): Promise<void> {
  await ask(service, "SELECT sum(sipHash64(number)) FROM numbers_mt(1000000000000)", signal).catch(() => {});
}

/** Sends garbage to the service's port and holds connections there, until it is aborted. */
async function attack({ host, port }: BenchService, signal: AbortSignal): Promise<void> {
  const next = random(1);
  const sockets = new Set<Socket>();
  const open = (first: string) => {
    const socket = connect(port, host);
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    socket.write(first);
  };
  for (let count = 0; count < restingConnections; count += 1) open("POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  while (!signal.aborted) {
    for (let count = 0; count < garbageConnections; count += 1) {
      open(String.fromCharCode(...Array.from({ length: 512 }, () => Math.floor(next() * 256))));
      open(`GET /?query=SELECT+1&user=u${next()} HTTP/1.1\r\nHost: x\r\n\r\n`);
    }
    await delay(garbageEveryMs);
  }
  for (const socket of sockets) socket.destroy();
}

function ask({ host, port, password }: BenchService, sql: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "X-ClickHouse-Key": password };
    const options = {
      host,
      port,
      method: "POST",
      path: "/",
      headers,
      ...(signal === undefined ? { agent } : { signal }),
    };
    const outgoing = request(options, (answer) => {
      answer.resume();
      answer.once("end", resolve);
      answer.once("error", reject);
    });
    outgoing.once("error", reject);
    outgoing.end(sql);
  });
}
