/**
 * A genuine ClickHouse server that is nobody's engine host: HTTP and native TCP, users with passwords, a data folder
 * that survives `kill` and `restart`. Tests use it as the server behind an external service.
 *
 * The library offers no HTTPS (see `tlsFront`), no `ON CLUSTER`, no `CREATE USER` and no asynchronous inserts.
 */
import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type ClickHouseAddress, ClickHouseClient } from "../../src/clickhouse/client.ts";
import { forgetLostInserts } from "../../src/engine/chdb/lost-inserts.ts";
import { element, xml } from "../../src/engine/chdb/xml.ts";
import { compileCacheFolder } from "../../src/lib/compile-cache.ts";
import { killChild } from "../kill.ts";
import { freePorts } from "../network/free-port.ts";

const childFile = fileURLToPath(new URL("./server-child.ts", import.meta.url));
const pollMs = 20;

/** The local tool exits after its last statement: this one runs for about a hundred years. */
const keepAlive = `SELECT sleepEachRow(3) FROM numbers(1000000000)
  SETTINGS function_sleep_max_microseconds_per_block = 1000000000000, max_block_size = 1, max_threads = 1,
  log_queries = 0, max_execution_time = 0 FORMAT Null`;

export type ServerUser = {
  readonly name: string;
  /** The first user needs one; for the others its hash, in hexadecimal, will do. */
  readonly password?: string;
  readonly passwordSha256?: string;
  /** Lists of grants as in `GRANT ...`; all rights when undefined. */
  readonly grants?: readonly string[];
};

export type ServerOptions = {
  readonly users?: readonly ServerUser[];
  /** More elements of the configuration as XML: `<macros>`, `<remote_servers>`, `<zookeeper>` ... */
  readonly configuration?: readonly string[];
  /** Its ports, for servers that name each other in their configuration. Free ones when undefined. */
  readonly ports?: ServerPorts;
  /** `BACKUP ... TO S3(...)` works; see `backup-threads.ts`, which says where it cannot. */
  readonly hasBackups?: boolean;
  /** Starts the process with these arguments of the engine's main function, where the library alone does not do. */
  readonly launch?: (args: readonly string[], dir: string) => ChildProcess;
};

export type ServerPorts = { readonly http: number; readonly tcp: number };

/** The user that every server has unless others are given. Its password needs quoting everywhere. */
export const serverUser = { name: "owner", password: `p'w"&%2F<é` };

export async function serverPorts(): Promise<ServerPorts> {
  const [http, tcp] = (await freePorts(2)) as [number, number];
  return { http, tcp };
}

export class TestServer implements AsyncDisposable {
  readonly dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "mr-server-"));
  readonly ports: ServerPorts;
  readonly user: ServerUser & { readonly password: string };
  /** Authenticated as the first user. */
  readonly client: ClickHouseClient;
  readonly #options: ServerOptions;
  #users: readonly ServerUser[];
  #child: ChildProcess | undefined;

  private constructor(ports: ServerPorts, options: ServerOptions) {
    this.ports = ports;
    this.#options = options;
    this.#users = options.users ?? [serverUser];
    this.user = { password: "", ...(this.#users[0] ?? serverUser) };
    this.client = new ClickHouseClient(this.address);
  }

  static async start(options: ServerOptions = {}): Promise<TestServer> {
    const server = new TestServer(options.ports ?? (await serverPorts()), options);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports.http}`;
  }

  get address(): ClickHouseAddress {
    return { host: "127.0.0.1", port: this.ports.http, user: this.user.name, password: this.user.password };
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** How the process ended, if it has without `kill`. */
  get end(): string | undefined {
    const child = this.#child;
    if (child === undefined || (child.exitCode === null && child.signalCode === null)) return undefined;
    return child.signalCode ?? `exit ${child.exitCode}`;
  }

  /**
   * Ends it with SIGKILL if it runs, and starts it on the same data and ports. Resolves when it answers. With `users`,
   * they replace all but the first.
   */
  async restart(users?: readonly ServerUser[]): Promise<void> {
    await this.kill();
    // What docs/external.md excludes: rows that a killed server loses although it knows their token.
    forgetLostInserts(join(this.dir, "data"));
    if (users !== undefined) this.#users = [this.user, ...users];
    const config = this.#configure();
    const listen = ["HTTP", "TCP"].map((kind) => `SYSTEM START LISTEN ${kind}`).join("; ");
    const args = [`--config-file=${config}`, `--path=${this.dir}/data`, "--query", `${listen}; ${keepAlive}`];
    const child = (this.#options.launch ?? forked)(args, this.dir, this.#options.hasBackups === true);
    this.#child = child;
    await this.#untilItAnswers(child);
  }

  /** kill -9. Resolves when the process has ended. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await killChild(child);
  }

  /** Stops it without ending it, as a machine that no longer answers. */
  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.client.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #untilItAnswers(child: ChildProcess): Promise<void> {
    for (;;) {
      try {
        await this.client.text("SELECT 1");
        return;
      } catch (error) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error("the server ended", { cause: error });
        await delay(pollMs);
      }
    }
  }

  #configure(): string {
    const file = (name: string, text: string) => {
      const path = join(this.dir, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    mkdirSync(join(this.dir, "files"), { recursive: true });
    const { http, tcp } = this.ports;
    const settings: Record<string, string> = {
      users_config: file("users.xml", usersXml(this.#users)),
      path: join(this.dir, "data"),
      listen_host: "127.0.0.1",
      http_port: String(http),
      tcp_port: String(tcp),
      max_server_memory_usage: "2000000000",
      user_files_path: join(this.dir, "files/"),
    };
    return file(
      "server.xml",
      element("clickhouse", [
        ...Object.entries(settings).map(([name, value]) => element(name, [xml(value)])),
        element("query_log", [
          "<database>system</database><table>query_log</table>",
          "<flush_interval_milliseconds>1000</flush_interval_milliseconds>",
        ]),
        ...(this.#options.configuration ?? []),
      ]),
    );
  }
}

function forked(args: readonly string[], dir: string, hasBackups: boolean): ChildProcess {
  const env = { HOME: dir, NODE_COMPILE_CACHE: compileCacheFolder() };
  const child = fork(childFile, { stdio: ["ignore", "ignore", "inherit", "ipc"], env });
  child.send({ args, hasBackups });
  return child;
}

/** The local session logs in as `default`, which therefore has no password; no network may use it. */
function usersXml(users: readonly ServerUser[]): string {
  const nobody = element("networks", ["<ip>::1</ip>"]);
  const ends = "<profile>default</profile><quota>default</quota>";
  return element("clickhouse", [
    element("profiles", [element("default", [])]),
    element("quotas", [element("default", [])]),
    element("users", [
      element("default", ["<no_password/>", nobody, ends]),
      ...users.map(({ name, password = "", passwordSha256, grants }) =>
        element(name, [
          passwordSha256 === undefined
            ? element("password", [xml(password)])
            : element("password_sha256_hex", [passwordSha256]),
          "<networks><ip>127.0.0.1</ip></networks>",
          ends,
          ...(grants === undefined
            ? ["<access_management>1</access_management>"]
            : [
                element(
                  "grants",
                  grants.map((list) => element("query", [xml(`GRANT ${list}`)])),
                ),
              ]),
        ]),
      ),
    ]),
  ]);
}
