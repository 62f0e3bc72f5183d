/**
 * The native protocol through the gateway against an engine's own port, alternating in one run: the same packets of the
 * same client. Each side has an engine of its own, because nobody can log in at the port behind the gateway.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { BareEngine } from "../harness/engine/bare-engine.ts";
import { emptyData, NativeClient, queryPacket, stringData } from "../harness/native/client.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description = "native queries and inserts through the gateway and at the engine's own port";

const smallRounds = 300;
const bulkRounds = 5;
const rows = 2_000_000;
const blocks = 20;
const idleConnections = 1_000;
/** More than may rest with a connection to the engine, which keeps the threads of those for later ones. */
const fewConnections = 64;
/** Longer than a connection to the engine is kept, and than its thread waits for another one. */
const restMs = 20_000;
const bulkQuery = `SELECT number AS id, toString(number) AS name, number * 1.5 AS value FROM numbers(${rows})`;

type Side = "direct" | "gateway";
type Pair = Record<Side, number[]>;

export async function run(): Promise<BenchResult> {
  const dir = mkdtempSync(join(statSync("/dev/shm", { throwIfNoEntry: false }) ? "/dev/shm" : tmpdir(), "mr-bench-"));
  const server = fork(fileURLToPath(new URL("./gateway-server.ts", import.meta.url)), [dir]);
  await using bare = await BareEngine.start();
  try {
    const [{ nativePort: port }] = (await once(server, "message")) as [{ nativePort: number }];
    const { user = "", password = "" } = bare.addressOf("millrace-internal");
    const clients = {
      direct: await NativeClient.connect({ port: bare.native.port, user, password }),
      gateway: await NativeClient.connect({ port, password: "bench" }),
    };
    for (const client of Object.values(clients)) {
      await client.query("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY tuple()");
    }
    const few = Array.from({ length: 100 }, (_, i) => `value ${i}`);
    const tiny = await alternate(smallRounds, (side) => clients[side].query("SELECT 1"));
    const insert = await alternate(smallRounds, (side) => clients[side].insert("INSERT INTO t VALUES", few));
    const select = await alternate(bulkRounds, (side) => drain(clients[side]));
    const block = stringData(
      clients.direct.revision,
      Array.from({ length: rows / blocks }, (_, i) => `a value of row ${i}`),
    );
    const bulk = await alternate(bulkRounds, (side) => pour(clients[side], block));
    return report({ tiny, insert, select, bulk }, await idle(port, engineOf(server.pid as number)));
  } finally {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
}

async function alternate(rounds: number, work: (side: Side) => Promise<unknown>): Promise<Pair> {
  const pair: Pair = { direct: [], gateway: [] };
  for (let i = -Math.ceil(rounds / 10); i < rounds; i += 1) {
    for (const side of (i % 2 === 0 ? ["direct", "gateway"] : ["gateway", "direct"]) as Side[]) {
      const start = performance.now();
      await work(side);
      if (i >= 0) pair[side].push(performance.now() - start);
    }
  }
  return pair;
}

/** Bytes of the rows of `bulkQuery`: two numbers, and a text with its length. */
const bulkBytes = Array.from({ length: rows }, (_, id) => 17 + String(id).length).reduce((sum, bytes) => sum + bytes);

/** Reads a large answer without looking at it: its end is the byte of the last packet, after all rows. */
async function drain(client: NativeClient): Promise<void> {
  const { socket } = client;
  const listeners = socket.listeners("data") as ((chunk: Buffer) => void)[];
  socket.removeAllListeners("data");
  let bytes = 0;
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (chunk.at(-1) === 5 && bytes > bulkBytes) resolve();
    });
  });
  client.send(queryPacket(bulkQuery, client.revision), emptyData);
  await ended;
  socket.removeAllListeners("data");
  for (const listener of listeners) socket.on("data", listener);
}

async function pour(client: NativeClient, block: Buffer): Promise<void> {
  const send = async () => {
    for (let i = 0; i < blocks; i += 1) if (!client.socket.write(block)) await once(client.socket, "drain");
  };
  const answer = client.insert("INSERT INTO t VALUES", ["first"], { before: send });
  const { exception } = await answer;
  if (exception !== undefined) throw new Error(exception.message);
}

/** What connections that have run a query and rest take of the engine's process, beyond what a few of them take. */
async function idle(port: number, pid: number): Promise<{ readonly mb: number; readonly threads: number }> {
  const few = await rested(port, fewConnections);
  const before = takenBy(pid);
  const many = await rested(port, idleConnections);
  const after = takenBy(pid);
  for (const client of [...few, ...many]) client.close();
  return { mb: after.mb - before.mb, threads: after.threads - before.threads };
}

async function rested(port: number, count: number): Promise<NativeClient[]> {
  const clients: NativeClient[] = [];
  for (let i = 0; i < count; i += 1) {
    const client = await NativeClient.connect({ port, password: "bench" });
    await client.query("SELECT 1");
    clients.push(client);
  }
  await delay(restMs);
  return clients;
}

function engineOf(parent: number): number {
  const isChild = (pid: string) => readFileSync(`/proc/${pid}/status`, "utf8").includes(`PPid:\t${parent}\n`);
  const pid = readdirSync("/proc").find((name) => {
    try {
      return /^\d+$/.test(name) && isChild(name);
    } catch {
      return false;
    }
  });
  return Number(pid);
}

/** Threads that serve connections, by the name that the engine gives them: merges and flushes have others. */
function takenBy(pid: number): { readonly mb: number; readonly threads: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const names = readdirSync(`/proc/${pid}/task`).map((task) => nameOf(`/proc/${pid}/task/${task}/comm`));
  const mb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  return { mb, threads: names.filter((name) => name.startsWith("TCPHandler")).length };
}

/** Empty for a thread that has ended meanwhile. */
function nameOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

type Pairs = Readonly<Record<"tiny" | "insert" | "select" | "bulk", Pair>>;

function report({ tiny, insert, select, bulk }: Pairs, resting: { mb: number; threads: number }): BenchResult {
  const over = (pair: Pair) => round(median(pair.gateway) - median(pair.direct));
  const ratio = (pair: Pair) => round(median(pair.direct) / median(pair.gateway));
  const row = (work: string, pair: Pair) => ({
    ...{ work, direct: round(median(pair.direct)), gateway: round(median(pair.gateway)), ratio: ratio(pair) },
  });
  return {
    rows: [
      row("SELECT 1, ms", tiny),
      row("INSERT of 100 rows, ms", insert),
      row(`SELECT of ${rows} rows, ms`, select),
      row(`INSERT of ${rows} rows, ms`, bulk),
      { work: `${idleConnections} idle connections`, MB: round(resting.mb), threads: resting.threads },
    ],
    summary: {
      ratio: Math.min(ratio(select), ratio(bulk)),
      tinyOverheadMs: over(tiny),
      smallInsertOverheadMs: over(insert),
      selectRatio: ratio(select),
      insertRatio: ratio(bulk),
      idleMb: round(resting.mb),
      idleThreads: resting.threads,
    },
  };
}
