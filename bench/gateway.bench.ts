/**
 * The gateway against the engine itself, side by side and alternating in one run. "Direct" is the same engine build in
 * a process of its own, doing the same work by itself: a tiny query on a session; the same Native result as a buffer
 * of `queryAsync` (a program holds the bytes in both cases); and an insert of Native bytes that a program holds, which it
 * puts into a memory file for `INSERT ... FROM INFILE`. Reported as well, and not part of `ratio`, is the engine's own
 * speed with nobody on the other side: `INTO OUTFILE` a named pipe that `cat` throws away, and `INFILE` of a file that is
 * there already.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BenchResult, median, percentile, round } from "./bench.ts";

export const description = "the same work through the gateway and directly on an engine session";

const tinyRounds = 300;
const bulkRounds = 5;
const rows = 4_000_000;
const columns = "number AS id, toString(number) AS name, number * 1.5 AS value, toDateTime(1700000000 + number) AS at";
const selectSql = `SELECT ${columns} FROM numbers(${rows})`;
const tableSql = "(id UInt64, name String, value Float64, at DateTime) ENGINE = MergeTree ORDER BY id";

export async function run(): Promise<BenchResult> {
  const dir = mkdtempSync(join(statSync("/dev/shm", { throwIfNoEntry: false }) ? "/dev/shm" : tmpdir(), "mr-bench-"));
  const direct = new Direct(join(dir, "direct"));
  // As in life the gateway is a process of its own, and the engine host its child: the client's work does not hold it up.
  const gateway = fork(fileURLToPath(new URL("./gateway-server.ts", import.meta.url)), [dir]);
  try {
    const [{ port }] = (await once(gateway, "message")) as [{ port: number }];
    const client = new Client(port);
    await direct.ready;
    const spool = join(dir, "native.bin");
    await direct.run(`${selectSql} INTO OUTFILE '${spool}' TRUNCATE FORMAT Native`);
    return report(
      await tiny(direct, client),
      await bulkSelect(direct, client),
      await bulkInsert(direct, client, spool),
    );
  } finally {
    gateway.kill("SIGKILL");
    direct.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

type Pair = { direct: number[]; gateway: number[] };

async function alternate(
  rounds: number,
  direct: () => Promise<unknown>,
  gateway: () => Promise<unknown>,
): Promise<Pair> {
  const pair: Pair = { direct: [], gateway: [] };
  for (let i = 0; i < rounds; i += 1) {
    const order = i % 2 === 0 ? (["direct", "gateway"] as const) : (["gateway", "direct"] as const);
    for (const side of order) {
      const start = performance.now();
      await (side === "direct" ? direct() : gateway());
      pair[side].push(performance.now() - start);
    }
  }
  return pair;
}

async function tiny(direct: Direct, client: Client): Promise<Pair> {
  const one = async () => void (await client.send("SELECT 1"));
  await alternate(50, () => direct.run("SELECT 1"), one);
  const pair = await alternate(tinyRounds, () => direct.timed("SELECT 1"), one);
  // Measured inside the direct process: its answer's way to us is not part of the engine's work.
  return { direct: direct.takeTimes(), gateway: pair.gateway };
}

type Select = Pair & { bytes: number; pipe: number[] };

async function bulkSelect(direct: Direct, client: Client): Promise<Select> {
  let bytes = 0;
  const pair = await alternate(
    bulkRounds,
    () => direct.toBuffer(selectSql, "Native"),
    async () => {
      bytes = await client.send(`${selectSql} FORMAT Native`);
    },
  );
  const pipe: number[] = [];
  for (let i = 0; i < bulkRounds; i += 1) {
    const start = performance.now();
    await direct.toPipe(selectSql, "Native");
    pipe.push(performance.now() - start);
  }
  return { ...pair, bytes, pipe };
}

type Insert = Pair & { bytes: number; file: number[] };

async function bulkInsert(direct: Direct, client: Client, spool: string): Promise<Insert> {
  await direct.run(`CREATE TABLE t ${tableSql}`);
  await client.send(`CREATE TABLE t ${tableSql}`);
  const bytes = readFileSync(spool);
  await direct.hold(spool);
  const empty = async () => {
    await direct.run("TRUNCATE TABLE t SYNC");
    await client.send("TRUNCATE TABLE t SYNC");
  };
  const pair: Insert = { direct: [], gateway: [], file: [], bytes: bytes.length };
  for (let i = 0; i < bulkRounds; i += 1) {
    const once = await alternate(
      1,
      () => direct.insert("INSERT INTO t", "Native"),
      () => client.insert("INSERT INTO t FORMAT Native", bytes),
    );
    pair.direct.push(...once.direct);
    pair.gateway.push(...once.gateway);
    await empty();
    const start = performance.now();
    await direct.run(`INSERT INTO t FROM INFILE '${spool}' FORMAT Native`);
    pair.file.push(performance.now() - start);
    await empty();
  }
  return pair;
}

function report(tinyPair: Pair, select: Select, insert: Insert): BenchResult {
  const rate = (bytes: number, ms: number[]) => round(bytes / 1e3 / median(ms), 0);
  const selectRatio = median(select.direct) / median(select.gateway);
  const insertRatio = median(insert.direct) / median(insert.gateway);
  const fileRatio = median(insert.file) / median(insert.gateway);
  const p50 = percentile(tinyPair.gateway, 50) - percentile(tinyPair.direct, 50);
  return {
    rows: [
      {
        work: "SELECT 1, ms p50 / p99",
        direct: `${round(percentile(tinyPair.direct, 50))} / ${round(percentile(tinyPair.direct, 99))}`,
        gateway: `${round(percentile(tinyPair.gateway, 50))} / ${round(percentile(tinyPair.gateway, 99))}`,
        ratio: `+${round(p50)} ms`,
      },
      {
        work: "Native select, MB/s",
        direct: rate(select.bytes, select.direct),
        gateway: rate(select.bytes, select.gateway),
        ratio: round(selectRatio),
      },
      {
        work: "Native select against a pipe to nowhere, MB/s",
        direct: rate(select.bytes, select.pipe),
        gateway: rate(select.bytes, select.gateway),
        ratio: round(median(select.pipe) / median(select.gateway)),
      },
      {
        work: "Native insert, MB/s",
        direct: rate(insert.bytes, insert.direct),
        gateway: rate(insert.bytes, insert.gateway),
        ratio: round(insertRatio),
      },
      {
        work: "Native insert against a file that is there, MB/s",
        direct: rate(insert.bytes, insert.file),
        gateway: rate(insert.bytes, insert.gateway),
        ratio: round(fileRatio),
      },
    ],
    summary: {
      ratio: round(Math.min(selectRatio, insertRatio)),
      selectRatio: round(selectRatio),
      insertRatio: round(insertRatio),
      pipeRatio: round(median(select.pipe) / median(select.gateway)),
      fileRatio: round(fileRatio),
      tinyOverheadMs: round(p50),
      selectMbPerS: rate(select.bytes, select.gateway),
      insertMbPerS: rate(insert.bytes, insert.gateway),
    },
  };
}

/** The engine alone, in `gateway-direct.ts`. */
class Direct {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  #times: number[] = [];

  constructor(dir: string) {
    this.#child = fork(fileURLToPath(new URL("./gateway-direct.ts", import.meta.url)), [dir]);
    this.ready = this.#next().then(() => {});
  }

  async run(sql: string): Promise<void> {
    this.#child.send({ sql });
    await this.#next();
  }

  async toBuffer(sql: string, format: string): Promise<void> {
    this.#child.send({ sql, buffer: format });
    await this.#next();
  }

  async toPipe(sql: string, format: string): Promise<void> {
    this.#child.send({ sql, pipe: format });
    await this.#next();
  }

  async hold(path: string): Promise<void> {
    this.#child.send({ sql: "SELECT 1", hold: path });
    await this.#next();
  }

  async insert(sql: string, format: string): Promise<void> {
    this.#child.send({ sql, insert: format });
    await this.#next();
  }

  async timed(sql: string): Promise<void> {
    this.#child.send({ sql });
    this.#times.push(await this.#next());
  }

  takeTimes(): number[] {
    return this.#times;
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }

  #next(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#child.once("message", ({ ms, error }: { ms: number; error?: string }) => {
        if (error === undefined) resolve(ms);
        else reject(new Error(error));
      });
    });
  }
}

class Client {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a statement and reads the whole answer; returns its size. */
  async send(sql: string): Promise<number> {
    return await this.#request("/", (outgoing) => outgoing.end(sql));
  }

  async insert(sql: string, bytes: Buffer): Promise<void> {
    await this.#request(`/?query=${encodeURIComponent(sql)}`, (outgoing) => outgoing.end(bytes));
  }

  #request(path: string, write: (outgoing: ReturnType<typeof request>) => void): Promise<number> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: this.#port, method: "POST", path, agent: this.#agent };
      const outgoing = request({ ...options, headers: { "X-ClickHouse-Key": "bench" } }, (incoming) => {
        let bytes = 0;
        incoming.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
        });
        incoming.on("end", () =>
          incoming.statusCode === 200 ? resolve(bytes) : reject(new Error(`HTTP ${incoming.statusCode}`)),
        );
        incoming.on("error", reject);
      });
      outgoing.on("error", reject);
      write(outgoing);
    });
  }
}
