/** Shared by the Postgres benchmarks: a server, a service, waiting for a pipe, and the peers. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { details } from "../harness/pipes.ts";
import { postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve } from "../harness/serve.ts";
import type { ClickHouseAddress } from "../src/clickhouse/client.ts";

export type PostgresBench = AsyncDisposable & {
  readonly source: TestPostgres;
  readonly served: Served;
  readonly service: BenchService;
};

/** Settings that keep the source's own checkpoints out of the numbers. */
const quiet = { max_wal_size: "8GB", checkpoint_timeout: "1h", shared_buffers: "512MB", autovacuum: "off" };

export async function startPostgresBench(): Promise<PostgresBench> {
  const missing = postgresMissing(18);
  if (missing !== undefined) throw new Error(missing);
  const source = await TestPostgres.start({ settings: quiet });
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: "error" } });
  const service = await runningService(served, { idleScaling: false });
  return {
    source,
    served,
    service,
    [Symbol.asyncDispose]: async () => {
      await served[Symbol.asyncDispose]();
      await source[Symbol.asyncDispose]();
    },
  };
}

type Details = Awaited<ReturnType<typeof details>>;

/** Polling uses the same processors: twenty times a second is enough. */
const lookMs = 50;

/** Seconds until the pipe in the API meets the condition; throws when the pipe fails first. */
export async function secondsUntil(
  bench: PostgresBench,
  pipeId: string,
  done: (pipe: Details) => boolean | Promise<boolean>,
  limitMs = 300_000,
) {
  const started = performance.now();
  for (;;) {
    const pipe = await details(bench.served, bench.service, pipeId);
    if (await done(pipe)) return (performance.now() - started) / 1000;
    const { state, lastError } = pipe;
    if (state === "Failed" || state === "InternalError") throw new Error(`the pipe failed: ${lastError}`);
    if (performance.now() - started > limitMs)
      throw new Error(`not within ${limitMs} ms; pipe ${state} ${lastError ?? ""}`);
    await delay(lookMs);
  }
}

export async function count(bench: PostgresBench, sql: string): Promise<number> {
  return Number(await query(bench.service, sql).catch(() => "0"));
}

/** `COPY ... TO STDOUT` into /dev/null, by psql. */
export async function copyToNowhere(source: TestPostgres, sql: string): Promise<void> {
  const psql = tool("psql");
  if (psql === undefined) throw new Error("no psql on this machine (package postgresql-client)");
  await runTool(psql, ["-q", "-o", "/dev/null", "-c", sql, ...addressOf(source)], source);
}

/** `COPY ... TO STDOUT` by psql, whose output curl sends to an engine as the data of an INSERT. */
export async function copyToEngine(
  source: TestPostgres,
  sql: string,
  { host, port, user, password }: ClickHouseAddress,
  insert: string,
): Promise<void> {
  const [psql, curl] = ["psql", "curl"].map((name) => {
    const file = tool(name);
    if (file === undefined) throw new Error(`no ${name} on this machine (packages postgresql-client and curl)`);
    return file;
  }) as [string, string];
  const env = { ...process.env, PGPASSWORD: source.password };
  const copy = spawn(psql, ["-q", "-c", sql, ...addressOf(source)], { stdio: ["ignore", "pipe", "inherit"], env });
  const url = `http://${host}:${port}/?query=${encodeURIComponent(insert)}`;
  const headers = ["Expect:", `X-ClickHouse-User: ${user}`, `X-ClickHouse-Key: ${password}`];
  const options = [...headers.flatMap((header) => ["-H", header]), "-sS", "--fail-with-body", "-X", "POST", "-T", "-"];
  const send = spawn(curl, [...options, url], { stdio: [copy.stdout, "inherit", "inherit"] });
  // The reader is the other program alone.
  copy.stdout.destroy();
  const codes = await Promise.all([copy, send].map(async (child) => (await once(child, "exit"))[0] as number));
  if (codes.some((code) => code !== 0)) throw new Error(`psql and curl ended with ${codes.join(" and ")}`);
}

/** Finds a client program in this machine's packages. */
export function tool(name: string): string | undefined {
  const places = ["/usr/bin", ...["18", "17", "16", "15", "14"].map((version) => `/usr/lib/postgresql/${version}/bin`)];
  return places.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

function addressOf({ host, port, user, database }: TestPostgres): string[] {
  return ["-h", host, "-p", String(port), "-U", user, "-d", database];
}

async function runTool(file: string, args: readonly string[], { password }: TestPostgres): Promise<void> {
  const env = { ...process.env, PGPASSWORD: password };
  const [code] = await once(spawn(file, args, { stdio: ["ignore", "ignore", "inherit"], env }), "exit");
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
}

/** Reads a slot up to a position with `pg_recvlogical`, into /dev/null. */
export async function readSlot(
  file: string,
  source: TestPostgres,
  slot: string,
  publication: string,
  end: string,
): Promise<void> {
  const options = ["-o", "proto_version=1", "-o", `publication_names=${publication}`];
  const what = ["--start", "-S", slot, "-f", "/dev/null", "--no-loop", `--endpos=${end}`];
  await runTool(file, [...what, ...options, ...addressOf(source)], source);
}

/** One chDB session without anything else, in a process of its own. */
export class BareEngine implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-bare-"));
  #child: ChildProcess | undefined;

  static async start(): Promise<BareEngine> {
    const engine = new BareEngine();
    await engine.resume();
    return engine;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Stops the process, while changes to replicate wait at the source. */
  pause(): void {
    this.#child?.kill("SIGKILL");
    rmSync(join(this.#folder, "pipe"), { force: true });
  }

  async resume(): Promise<void> {
    this.#child = fork(fileURLToPath(new URL("./bare-session.ts", import.meta.url)), [this.#folder], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    await once(this.#child, "message");
  }

  /** Seconds of a statement; throws the engine's message. */
  async run(sql: string): Promise<number> {
    const child = this.#child as ChildProcess;
    child.send({ sql });
    const [{ ms, error }] = (await once(child, "message")) as [{ ms: number; error?: string }];
    if (error !== undefined) throw new Error(error);
    return ms / 1000;
  }

  /** True when the query's single value is true; reported by an engine error, because results stay in its process. */
  async holds(condition: string): Promise<boolean> {
    return await this.run(`SELECT throwIf(NOT (${condition})) FORMAT Null`).then(
      () => true,
      () => false,
    );
  }

  [Symbol.dispose](): void {
    this.pause();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
