/**
 * A confined engine host that reads one file after another with the statement of a pipe. It may die: the next file has
 * a new one.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ClickHouseClient } from "../../src/clickhouse/client.ts";
import { type EngineHostProcess, spawnEngineHost } from "../../src/engine/spawn.ts";
import { failureOf, sentenceOf } from "../../src/pipes/failures.ts";
import type { DestinationColumn } from "../../src/sources/contract/source.ts";
import { ObjectBridge } from "../../src/sources/object-storage/reading/object-bridge.ts";
import { ObjectStatements } from "../../src/sources/object-storage/reading/reading.ts";
import type { ByteRange, ObjectFile, ObjectStore } from "../../src/sources/object-storage/stores/store.ts";
import { anyNetwork } from "../network/network.ts";
import { type FileFormat, fileColumns } from "./damaged-files.ts";

export type FileOutcome =
  | { readonly kind: "loaded"; readonly rows: number }
  /** `message` is what the pipe shows; `code` is the engine's. */
  | { readonly kind: "refused" | "retried"; readonly code: number; readonly message: string }
  /** Also of an engine that was killed because it had no answer. */
  | { readonly kind: "died"; readonly how: string };

const memoryBytes = 1e9;
const modified = new Date("2020-01-01T00:00:00Z");
/** Longer than any file of these tests takes on a busy machine; some damaged ones are read for ever. */
const patienceMs = 60_000;

const columns: readonly DestinationColumn[] = fileColumns.map((column) => ({ ...column, sourceField: column.name }));

/** One object, whose content changes. */
class OneObject implements ObjectStore {
  content: Buffer = Buffer.alloc(0);
  version = 0;

  get file(): ObjectFile {
    return { key: "damaged", etag: `v${this.version}`, size: this.content.length };
  }

  async list() {
    return { files: [this.file], more: false, last: this.file.key };
  }

  pathOf(key: string): string {
    return `bucket/${key}`;
  }

  async head() {
    return { etag: this.file.etag, modified, size: this.content.length };
  }

  async download(_key: string, _etag: string | undefined, _signal: AbortSignal, range?: ByteRange) {
    const end = range?.end === undefined ? this.content.length : range.end + 1;
    const body = Readable.from([this.content.subarray(range?.start ?? 0, end)], { objectMode: false });
    return { ...(await this.head()), body };
  }

  close(): void {}
}

export class FileReader implements AsyncDisposable {
  readonly #dir: string;
  readonly #port: number;
  readonly #store = new OneObject();
  readonly #bridge: ObjectBridge;
  readonly #statements: ObjectStatements;
  #host: EngineHostProcess;
  client: ClickHouseClient;
  /** Times that the engine has died. */
  deaths = 0;

  private constructor(dir: string, listener: Server, host: EngineHostProcess) {
    this.#dir = dir;
    this.#port = (listener.address() as AddressInfo).port;
    this.#bridge = new ObjectBridge(this.#store, { ...anyNetwork, listenForEngine: async () => listener });
    const target = { database: "default", table: "files", columns };
    this.#statements = new ObjectStatements(this.#store, this.#bridge, {}, target);
    this.#host = host;
    this.client = new ClickHouseClient(host.address);
  }

  static async open(): Promise<FileReader> {
    const dir = mkdtempSync(join(tmpdir(), "millrace-files-"));
    // The engine's proxy of outgoing connections and the bridge in one: an absolute URL has the same path.
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const host = await startHost(dir, (listener.address() as AddressInfo).port);
    const reader = new FileReader(dir, listener, host);
    await reader.#createTable();
    return reader;
  }

  /** Throws when what a pipe would show has a path or a secret. */
  async read(bytes: Buffer, format: FileFormat): Promise<FileOutcome> {
    this.#store.content = bytes;
    this.#store.version += 1;
    const signal = AbortSignal.timeout(patienceMs);
    const options = { oneBlock: true, lenient: false, threads: 1 };
    const insert = await this.#statements.insert([this.#store.file], format, options, signal);
    const { sql, params, settings } = insert;
    try {
      const { writtenRows } = await this.client.command(sql, {
        params: params ?? {},
        settings: settings ?? {},
        signal,
      });
      return { kind: "loaded", rows: writtenRows };
    } catch (error) {
      const failure = failureOf(error);
      if (failure.code === 0) return await this.#death(signal);
      const message = sentenceOf(failure);
      this.#assertClean(message, Object.values(params ?? {}));
      return { kind: failure.kind === "data" ? "refused" : "retried", code: failure.code, message };
    }
  }

  /** The most memory that this engine has had, in bytes. */
  peakMemory(): number {
    const status = readFileSync(`/proc/${this.#host.pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    this.#bridge.close();
    await this.#host.stop(1_000);
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }

  async #death(signal: AbortSignal): Promise<FileOutcome> {
    const late = signal.aborted ? undefined : once(signal, "abort").then(() => undefined);
    const exit = await Promise.race([this.#host.exited, late]);
    if (exit === undefined) await this.#host.stop(0);
    this.deaths += 1;
    this.client.close();
    this.#host = await startHost(this.#dir, this.#port);
    this.client = new ClickHouseClient(this.#host.address);
    return { kind: "died", how: exit === undefined ? "no answer" : (exit.signal ?? `exit code ${exit.code}`) };
  }

  #assertClean(message: string, secrets: readonly string[]): void {
    const leak = [this.#dir, process.cwd(), tmpdir(), ...secrets].find((text) => message.includes(text));
    if (leak !== undefined) throw new Error(`the message has ${leak}: ${message}`);
  }

  async #createTable(): Promise<void> {
    const declared = fileColumns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
    await this.client.command(`CREATE TABLE default.files (${declared}) ENGINE = Null`);
  }
}

async function startHost(dir: string, port: number): Promise<EngineHostProcess> {
  return await spawnEngineHost({
    dataDir: join(dir, "data"),
    runDir: join(dir, "run"),
    maxMemoryBytes: memoryBytes,
    proxy: { port, url: `http://127.0.0.1:${port}` },
    logLevel: "silent",
  });
}
