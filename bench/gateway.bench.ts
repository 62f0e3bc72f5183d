/**
 * The gateway against the engine's own port, side by side and alternating in one run: the same requests of the same
 * client to the same engine, once through the gateway's listener, login and guard, and once without them.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouseAddress } from "../src/clickhouse/client.ts";
import { type BenchResult, median, percentile, round } from "./bench.ts";

export const description = "the same requests through the gateway and to the engine's own port";

const tinyRounds = 500;
const bulkRounds = 7;
const rows = 4_000_000;
const columns = "number AS id, toString(number) AS name, number * 1.5 AS value, toDateTime(1700000000 + number) AS at";
const table = "(id UInt64, name String, value Float64, at DateTime) ENGINE = MergeTree ORDER BY id";
const goals = { tinyMs: 1, newTinyMs: 1.5, bulk: 0.9 };

type Side = "direct" | "gateway";
type Pair = Record<Side, number[]>;

export async function run(): Promise<BenchResult> {
  const dir = mkdtempSync(join(statSync("/dev/shm", { throwIfNoEntry: false }) ? "/dev/shm" : tmpdir(), "mr-bench-"));
  // As in production the gateway is a process of its own, and the engine host its child: the client's work does not
  // delay it.
  const server = fork(fileURLToPath(new URL("./gateway-server.ts", import.meta.url)), [dir]);
  try {
    const [started] = (await once(server, "message")) as [{ gatewayPort: number; address: ClickHouseAddress }];
    const { gatewayPort, address } = started;
    const clients = {
      direct: new Client(address.port, address.user ?? "", address.password ?? ""),
      gateway: new Client(gatewayPort, "default", "bench"),
    };
    return report(
      await alternate(tinyRounds, (side) => clients[side].send("SELECT 1")),
      await alternate(tinyRounds, (side, i) => clients[side].send(`SELECT ${i} AS ${side}${i}`)),
      await bulkSelect(clients),
      await bulkInsert(clients),
    );
  } finally {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Milliseconds of each side, after a few warm-up rounds. */
async function alternate(rounds: number, work: (side: Side, round: number) => Promise<unknown>): Promise<Pair> {
  const pair: Pair = { direct: [], gateway: [] };
  const warmUp = Math.ceil(rounds / 10);
  for (let i = -warmUp; i < rounds; i += 1) {
    const order: Side[] = i % 2 === 0 ? ["direct", "gateway"] : ["gateway", "direct"];
    for (const side of order) {
      const start = performance.now();
      await work(side, i + warmUp);
      if (i >= 0) pair[side].push(performance.now() - start);
    }
  }
  return pair;
}

async function bulkSelect(clients: Record<Side, Client>): Promise<Pair & { bytes: number }> {
  let bytes = 0;
  const pair = await alternate(bulkRounds, async (side) => {
    bytes = await clients[side].send(`SELECT ${columns} FROM numbers(${rows}) FORMAT Native`);
  });
  return { ...pair, bytes };
}

async function bulkInsert(clients: Record<Side, Client>): Promise<Pair & { bytes: number }> {
  const bytes = await clients.direct.fetch(`SELECT ${columns} FROM numbers(${rows}) FORMAT Native`);
  await clients.direct.send(`CREATE TABLE t ${table}`);
  const pair: Pair = { direct: [], gateway: [] };
  for (let i = 0; i < bulkRounds; i += 1) {
    for (const side of (i % 2 === 0 ? ["direct", "gateway"] : ["gateway", "direct"]) as Side[]) {
      const start = performance.now();
      await clients[side].insert("INSERT INTO t FORMAT Native", bytes);
      pair[side].push(performance.now() - start);
      await clients.direct.send("TRUNCATE TABLE t SYNC");
    }
  }
  return { ...pair, bytes: bytes.length };
}

function report(
  tiny: Pair,
  fresh: Pair,
  select: Pair & { bytes: number },
  insert: Pair & { bytes: number },
): BenchResult {
  const over = (pair: Pair) => median(pair.gateway) - median(pair.direct);
  const ratio = (pair: Pair) => median(pair.direct) / median(pair.gateway);
  const rate = (bytes: number, samples: number[]) => round(bytes / 1e3 / median(samples), 0);
  const small = (work: string, pair: Pair) => ({
    work,
    direct: round(median(pair.direct)),
    gateway: round(median(pair.gateway)),
    "p99 direct": round(percentile(pair.direct, 99)),
    "p99 gateway": round(percentile(pair.gateway, 99)),
  });
  const bulk = (work: string, pair: Pair & { bytes: number }) => ({
    work,
    direct: rate(pair.bytes, pair.direct),
    gateway: rate(pair.bytes, pair.gateway),
    ratio: round(ratio(pair)),
  });
  const ok =
    over(tiny) <= goals.tinyMs &&
    over(fresh) <= goals.newTinyMs &&
    ratio(select) >= goals.bulk &&
    ratio(insert) >= goals.bulk;
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
      insertRatio: round(ratio(insert)),
      tinyOverheadMs: round(over(tiny)),
      newTinyOverheadMs: round(over(fresh)),
      ok,
    },
  };
}

class Client {
  readonly #port: number;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(port: number, user: string, password: string) {
    this.#port = port;
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
      const options = { host: "127.0.0.1", port: this.#port, method: "POST", path, agent: this.#agent };
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
