/**
 * The native protocol through the gateway against an engine's own port, alternating in one run: the same packets of the
 * same client. Each of these sides has an engine of its own, because nobody can log in at the port behind the gateway.
 * Between both, a front that does only what every front must: what lies above it is ours to mend.
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
import { type BenchResult, bareFront, inTurns, round, undisturbed } from "./bench.ts";

export const description = "native queries and inserts through the gateway and at the engine's own port";

const smallRounds = 300;
/** What runs for the first time is compiled again and again meanwhile: a service that answers clients has done that. */
const warmRounds = 1_500;
const bulkRounds = 20;
const rows = 2_000_000;
const blocks = 20;
const idleConnections = 1_000;
/** What the engine keeps of these for later ones is not counted. */
const fewConnections = 64;
/** Longer than a connection to the engine is kept, and than its thread waits for another one. */
const restMs = 20_000;
const bulkQuery = `SELECT number AS id, toString(number) AS name, number * 1.5 AS value FROM numbers(${rows})`;

const sides = ["direct", "least", "gateway"] as const;
type Side = (typeof sides)[number];
type Times = Record<Side, number[]>;

export async function run(): Promise<BenchResult> {
  const dir = mkdtempSync(join(statSync("/dev/shm", { throwIfNoEntry: false }) ? "/dev/shm" : tmpdir(), "mr-bench-"));
  const server = fork(fileURLToPath(new URL("./gateway-server.ts", import.meta.url)), [dir]);
  // With less memory than the engine behind the gateway it would insert with one thread, and that one with two.
  await using bare = await BareEngine.start([], { maxMemoryBytes: 4e9 });
  try {
    const [{ nativePort: port }] = (await once(server, "message")) as [{ nativePort: number }];
    const { user = "", password = "" } = bare.addressOf("millrace-internal");
    const direct = await NativeClient.connect({ port: bare.native.port, user, password });
    await using front = await bareFront({ host: "127.0.0.1", port: bare.native.port }, direct.revision);
    const clients = {
      direct,
      least: await NativeClient.connect({ port: front.port, user, password }),
      gateway: await NativeClient.connect({ port, password: "bench" }),
    };
    // Each side has a table of its own. What comes before the measurement leaves no parts to merge in it.
    for (const side of sides) {
      await clients[side].query(`CREATE TABLE ${side} (s String) ENGINE = MergeTree ORDER BY tuple()`);
      await clients[side].query(`CREATE TABLE ${side}_warm (s String) ENGINE = Null`);
    }
    const few = Array.from({ length: 100 }, (_, i) => `value ${i}`);
    const selectOne = (side: Side) => clients[side].query("SELECT 1");
    const insertInto = (side: Side, table: string) => clients[side].insert(`INSERT INTO ${table} VALUES`, few);
    await inTurns(sides, warmRounds, async (side) => {
      await selectOne(side);
      await insertInto(side, `${side}_warm`);
    });
    const tiny = await inTurns(sides, smallRounds, selectOne);
    const insert = await inTurns(sides, smallRounds, (side) => insertInto(side, side));
    const select = await inTurns(sides, bulkRounds, (side) => drain(clients[side]));
    const block = stringData(
      clients.direct.revision,
      Array.from({ length: rows / blocks }, (_, i) => `a value of row ${i}`),
    );
    const bulk = await inTurns(
      sides,
      bulkRounds,
      (side) => pour(clients[side], side, block),
      // What is merged meanwhile would be counted for whoever comes next.
      (side) => clients[side].query(`TRUNCATE TABLE ${side} SYNC`),
    );
    return report({ tiny, insert, select, bulk }, await idle(port, engineOf(server.pid as number)));
  } finally {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
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

async function pour(client: NativeClient, table: string, block: Buffer): Promise<void> {
  const send = async () => {
    for (let i = 0; i < blocks; i += 1) if (!client.socket.write(block)) await once(client.socket, "drain");
  };
  const answer = client.insert(`INSERT INTO ${table} VALUES`, ["first"], { before: send });
  const { exception } = await answer;
  if (exception !== undefined) throw new Error(exception.message);
}

/** What connections that have run a query and rest take of the engine's process, beyond what a few of them take. */
async function idle(port: number, pid: number): Promise<{ readonly mb: number; readonly connections: number }> {
  const few = await rested(port, fewConnections);
  const before = megabytesOf(pid);
  const many = await rested(port, idleConnections);
  const after = megabytesOf(pid);
  // The one that asks holds one, and opens the next behind its query.
  const asked = await (few[0] as NativeClient).query(
    "SELECT toString(value) FROM system.metrics WHERE metric = 'TCPConnection'",
  );
  for (const client of [...few, ...many]) client.close();
  return { mb: after - before, connections: Number(asked[0]?.[0]) - 1 };
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

function megabytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

type Measured = Readonly<Record<"tiny" | "insert" | "select" | "bulk", Times>>;

function report({ tiny, insert, select, bulk }: Measured, resting: { mb: number; connections: number }): BenchResult {
  const over = (times: Times, side: Side = "gateway") => round(undisturbed(times[side]) - undisturbed(times.direct));
  const ratio = (times: Times, side: Side = "gateway") => round(undisturbed(times.direct) / undisturbed(times[side]));
  const ofLeast = (times: Times) => round(undisturbed(times.least) / undisturbed(times.gateway));
  const row = (work: string, times: Times) => ({
    work,
    ...Object.fromEntries(sides.map((side) => [side, round(undisturbed(times[side]))])),
    ...{ ratio: ratio(times), "least ratio": ratio(times, "least") },
  });
  return {
    rows: [
      row("SELECT 1, ms", tiny),
      row("INSERT of 100 rows, ms", insert),
      row(`SELECT of ${rows} rows, ms`, select),
      row(`INSERT of ${rows} rows, ms`, bulk),
      { work: `${idleConnections} idle connections`, MB: round(resting.mb), connections: resting.connections },
    ],
    summary: {
      ratio: Math.min(ratio(select), ratio(bulk)),
      tinyOverheadMs: over(tiny),
      leastTinyOverheadMs: over(tiny, "least"),
      tinyOfLeast: ofLeast(tiny),
      smallInsertOverheadMs: over(insert),
      leastSmallInsertOverheadMs: over(insert, "least"),
      smallInsertOfLeast: ofLeast(insert),
      selectRatio: ratio(select),
      selectOfLeast: ofLeast(select),
      insertRatio: ratio(bulk),
      insertOfLeast: ofLeast(bulk),
      idleMb: round(resting.mb),
      idleConnections: resting.connections,
    },
  };
}
