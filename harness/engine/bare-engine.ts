/**
 * The genuine server in a temporary directory, queried at its own port: no gateway, no query service, no guard and no
 * confinement. Whatever a guard accepts shows its effect here.
 */

import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ClickHouseAddress, ClickHouseClient } from "../../src/clickhouse/client.ts";
import { type EngineRole, internalUser } from "../../src/engine/chdb/users.ts";
import type { NativePort } from "../../src/engine/native/sealed-connection.ts";
import { compileCacheFolder } from "../../src/lib/compile-cache.ts";
import { freePort } from "../network/free-port.ts";

const childFile = fileURLToPath(new URL("./bare-engine-child.ts", import.meta.url));
const key = randomBytes(16).toString("hex");

/** `folder`: where its directory is, by default in memory. */
type BareOptions = { readonly maxMemoryBytes?: number; readonly folder?: string };

export class BareEngine implements AsyncDisposable {
  readonly dir: string;
  readonly #clients = new Map<string, ClickHouseClient>();
  #child: ChildProcess | undefined;
  #port = 0;
  /** The port of the native protocol. */
  readonly native = { port: 0, secret: randomBytes(16).toString("hex") };

  private constructor(folder: string) {
    this.dir = mkdtempSync(join(folder, "mr-bare-"));
  }

  /** Its users are `default`, with the rights of full users, and `reader`. */
  static async start(roles: readonly EngineRole[] = [], options: BareOptions = {}): Promise<BareEngine> {
    const engine = new BareEngine(options.folder ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir()));
    await engine.#start(roles, options.maxMemoryBytes ?? 2_000_000_000);
    return engine;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Authenticated as the internal user, which has all rights. */
  get client(): ClickHouseClient {
    return this.clientOf(internalUser);
  }

  clientOf(user: string): ClickHouseClient {
    const client = this.#clients.get(user) ?? new ClickHouseClient(this.addressOf(user));
    this.#clients.set(user, client);
    return client;
  }

  addressOf(user: string): ClickHouseAddress {
    return { host: "127.0.0.1", port: this.#port, user, password: key };
  }

  /** Where the front connects for the native protocol. */
  get nativeAddress(): NativePort {
    return { host: "127.0.0.1", key, ...this.native };
  }

  get dataDir(): string {
    return join(this.dir, "data");
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.#clients.clear();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #start(roles: readonly EngineRole[], maxMemoryBytes: number): Promise<void> {
    this.#port = await freePort();
    this.native.port = await freePort();
    const env = { HOME: this.dir, NODE_COMPILE_CACHE: compileCacheFolder() };
    const child = fork(childFile, { stdio: ["ignore", "ignore", "inherit", "ipc"], env });
    this.#child = child;
    const ready = Promise.race([
      once(child, "message"),
      once(child, "exit").then(() => Promise.reject(new Error("the engine ended"))),
    ]);
    child.send({
      dataDir: this.dataDir,
      configDir: join(this.dir, "config"),
      host: "127.0.0.1",
      port: this.#port,
      key,
      native: this.native,
      users: [
        { name: "default", readonly: false },
        { name: "reader", readonly: true },
      ],
      roles,
      maxMemoryBytes,
      maxQueries: 200,
      minFreeDiskBytes: 0,
      displayName: "bare",
    });
    await ready;
  }
}
