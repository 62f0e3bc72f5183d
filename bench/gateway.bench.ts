/**
 * The gateway against the engine's own port, side by side and alternating in one run: the same requests of the same
 * client to the same engine, through the gateway's listener, login and guard, and without them. Between both, a front
 * that only passes bytes on: what lies above it is ours to mend.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouseAddress } from "../src/clickhouse/client.ts";
import {
  type BenchResult,
  bareFront,
  type Cost,
  costOf,
  inTurns,
  leastCost,
  percentile,
  round,
  undisturbed,
} from "./bench.ts";

export const description = "the same requests through the gateway and to the engine's own port";

const tinyRounds = 500;
const bulkRounds = 20;
const rows = 4_000_000;
const columns = "number AS id, toString(number) AS name, number * 1.5 AS value, toDateTime(1700000000 + number) AS at";
const table = "(id UInt64, name String, value Float64, at DateTime) ENGINE = MergeTree ORDER BY id";

const sides = ["direct", "least", "gateway"] as const;
type Side = (typeof sides)[number];
/** The sides of small queries: a third one in between would change their time. */
const pair = ["direct", "gateway"] as const;
type Pair = Record<(typeof pair)[number], number[]>;

export async function run(): Promise<BenchResult> {
  const dir = mkdtempSync(join(statSync("/dev/shm", { throwIfNoEntry: false }) ? "/dev/shm" : tmpdir(), "mr-bench-"));
  // As in production the gateway is a process of its own, and the engine host its child: the client's work does not
  // delay it.
  const server = fork(fileURLToPath(new URL("./gateway-server.ts", import.meta.url)), [dir]);
  try {
    const [started] = (await once(server, "message")) as [{ gatewayPort: number; address: ClickHouseAddress }];
    const { gatewayPort, address } = started;
    const { pid } = server;
    const { user = "", password = "" } = address;
    await using front = await bareFront({ host: address.host, port: address.port });
    const clients = {
      direct: new Client(address, user, password),
      least: new Client({ host: "127.0.0.1", port: front.port }, user, password),
      gateway: new Client({ host: "127.0.0.1", port: gatewayPort }, "default", "bench"),
    };
    return report(
      await inTurns(pair, tinyRounds, (side) => clients[side].send("SELECT 1")),
      await inTurns(pair, tinyRounds, (side, i) => clients[side].send(`SELECT ${i} AS ${side}${i}`)),
      await bulkSelect(clients, pid),
      await bulkInsert(clients, pid),
    );
  } finally {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
}

type Bulk = { readonly bytes: number; readonly costs: Record<Side, Cost[]> };

async function bulkSelect(clients: Record<Side, Client>, pid: number | undefined): Promise<Bulk> {
  let bytes = 0;
  const costs = await bulkCosts(pid, async (side) => {
    bytes = await clients[side].send(`SELECT ${columns} FROM numbers(${rows}) FORMAT Native`);
  });
  return { costs, bytes };
}

async function bulkInsert(clients: Record<Side, Client>, pid: number | undefined): Promise<Bulk> {
  const bytes = await clients.direct.fetch(`SELECT ${columns} FROM numbers(${rows}) FORMAT Native`);
  await clients.direct.send(`CREATE TABLE t ${table}`);
  const insert = (side: Side) => clients[side].insert("INSERT INTO t FORMAT Native", bytes);
  const emptied = async () => void (await clients.direct.send("TRUNCATE TABLE t SYNC"));
  return { costs: await bulkCosts(pid, insert, emptied), bytes: bytes.length };
}

/** Costs of the server's processes for each side, whose front is none of them. The first round is warm-up. */
async function bulkCosts(
  pid: number | undefined,
  work: (side: Side) => Promise<void>,
  after: () => Promise<void> = async () => {},
): Promise<Record<Side, Cost[]>> {
  const costs: Record<Side, Cost[]> = { direct: [], least: [], gateway: [] };
  for (let i = -1; i < bulkRounds; i += 1) {
    for (const side of i % 2 === 0 ? sides : sides.toReversed()) {
      const cost = await costOf(() => work(side), { pid });
      if (i >= 0) costs[side].push(cost);
      await after();
    }
  }
  return costs;
}

function report(tiny: Pair, fresh: Pair, select: Bulk, insert: Bulk): BenchResult {
  const over = (pair: Pair) => undisturbed(pair.gateway) - undisturbed(pair.direct);
  const ratio = ({ costs }: Bulk, side: Side = "gateway") =>
    leastCost(costs.direct).seconds / leastCost(costs[side]).seconds;
  const ofLeast = ({ costs }: Bulk) => leastCost(costs.least).seconds / leastCost(costs.gateway).seconds;
  const cpuRatio = ({ costs }: Bulk) => leastCost(costs.direct).cpuSeconds / leastCost(costs.gateway).cpuSeconds;
  const rate = ({ bytes, costs }: Bulk, side: Side) => round(bytes / 1e6 / leastCost(costs[side]).seconds, 0);
  const small = (work: string, pair: Pair) => ({
    work,
    direct: round(undisturbed(pair.direct)),
    gateway: round(undisturbed(pair.gateway)),
    "p99 direct": round(percentile(pair.direct, 99)),
    "p99 gateway": round(percentile(pair.gateway, 99)),
  });
  const bulk = (work: string, pair: Bulk) => ({
    work,
    direct: rate(pair, "direct"),
    least: rate(pair, "least"),
    gateway: rate(pair, "gateway"),
    ratio: round(ratio(pair)),
    "least ratio": round(ratio(pair, "least")),
    "CPU ratio": round(cpuRatio(pair)),
  });
  return {
    rows: [
      small("SELECT 1, ms", tiny),
      small("a small query never seen before, ms", fresh),
      bulk("Native select, MB/s", select),
      bulk("Native insert, MB/s", insert),
    ],
    summary: {
      ratio: round(Math.min(ratio(select), ratio(insert))),
      selectRatio: round(ratio(select)),
      selectOfLeast: round(ofLeast(select)),
      insertRatio: round(ratio(insert)),
      insertOfLeast: round(ofLeast(insert)),
      selectCpuRatio: round(cpuRatio(select)),
      insertCpuRatio: round(cpuRatio(insert)),
      tinyOverheadMs: round(over(tiny)),
      newTinyOverheadMs: round(over(fresh)),
    },
  };
}

class Client {
  readonly #address: Pick<ClickHouseAddress, "host" | "port">;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true });

  constructor({ host, port }: Pick<ClickHouseAddress, "host" | "port">, user: string, password: string) {
    this.#address = { host, port };
    this.#headers = { "X-ClickHouse-User": user, "X-ClickHouse-Key": password };
  }

  /** Sends a statement and reads the whole response; returns its size. */
  async send(sql: string): Promise<number> {
    let bytes = 0;
    await this.#request("/", Buffer.from(sql), (chunk) => {
      bytes += chunk.length;
    });
    return bytes;
  }

  /** The same, returning the response. */
  async fetch(sql: string): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.#request("/", Buffer.from(sql), (chunk) => chunks.push(chunk));
    return Buffer.concat(chunks);
  }

  async insert(sql: string, bytes: Buffer): Promise<void> {
    await this.#request(`/?query=${encodeURIComponent(sql)}`, bytes, () => {});
  }

  #request(path: string, body: Buffer, onChunk: (chunk: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const options = { ...this.#address, method: "POST", path, agent: this.#agent };
      const outgoing = request({ ...options, headers: this.#headers }, (incoming) => {
        incoming.on("data", onChunk);
        incoming.on("end", () =>
          incoming.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${incoming.statusCode}`)),
        );
        incoming.on("error", reject);
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }
}
