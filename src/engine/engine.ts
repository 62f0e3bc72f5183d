/**
 * The open database. Every query gets a connection of its own (about 0.2 ms): settings, parameters and temporary
 * tables end with it, and rows that a failed query had already formatted can never reach another caller.
 */
import { parseException } from "../clickhouse/exception.ts";
import { literal } from "../clickhouse/sql.ts";
import { tagSetting } from "./guard.ts";
import {
  type Addon,
  type Classification,
  type Connection,
  loadAddon,
  type RawResult,
  type RawWritten,
} from "./native.ts";

/** Server defaults that differ in the embedded engine, and would surprise a client. */
const connectionDefaults = ["--implicit_select=0", "--allow_introspection_functions=0"];

const newline = Buffer.from("\n");

export class Engine {
  readonly #addon: Addon;
  readonly #dataDir: string;
  /** Kept open so that the database stays loaded, and used for KILL QUERY. */
  readonly #control: Connection;
  /** Opened while nothing waited for it. Never used before. */
  #spare: Connection | undefined;

  constructor(dataDir: string, configFile: string) {
    this.#addon = loadAddon();
    this.#dataDir = dataDir;
    // The first connection starts the engine with its configuration; later ones join it.
    this.#control = this.connect([["config-file", configFile]]);
  }

  /** Opens a connection with settings that constraints and read-only mode do not apply to. */
  connect(settings: readonly (readonly [name: string, value: string])[]): Connection {
    const args = settings.map(([name, value]) => `--${name}=${value}`);
    const connection = this.#addon.CreateConnection(this.#dataDir, [...connectionDefaults, ...args]);
    if (connection === null) throw new Error("the engine refused a connection");
    return connection;
  }

  /** A connection that nobody has used before. */
  fresh(): Connection {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare ?? this.connect([]);
  }

  /** Only when no query of the connection is running. */
  close(connection: Connection): void {
    this.#addon.CloseConnection(connection);
  }

  /** Closes it after the answer has left, and opens the next one then: neither is anything a client waits for. */
  retire(connection: Connection): void {
    setImmediate(() => {
      this.close(connection);
      this.#spare ??= this.connect([]);
    });
  }

  /** Runs a text and returns its result in `format`, or what it wrote to an OUTFILE as counters only. */
  async query(connection: Connection, sql: string, format: string): Promise<RawResult> {
    return await this.#addon.QueryAsyncConnection(connection, sql, format).catch(rethrow);
  }

  /** Runs a text that writes, and returns how much it wrote. */
  async write(connection: Connection, sql: string): Promise<RawWritten> {
    return await this.#addon.InsertRawAsyncConnection(connection, sql, newline, false).catch(rethrow);
  }

  async classify(sql: string): Promise<Classification> {
    return await this.#addon.DurableClassifyAsync(this.#control, sql, "default");
  }

  /** A query of our own on the control connection; it must be short. */
  async control(sql: string): Promise<string> {
    const result = await this.query(this.#control, sql, "TabSeparated");
    return result.bytes.toString().replace(/\n$/, "");
  }

  /** Asks the engine to cancel the query with this tag; true once the engine has marked it cancelled. */
  async kill(tag: string): Promise<boolean> {
    const where = `Settings['${tagSetting}'] = ${literal(tag)}`;
    await this.control(`KILL QUERY WHERE ${where} ASYNC FORMAT Null`);
    return (await this.control(`SELECT max(is_cancelled) FROM system.processes WHERE ${where}`)) === "1";
  }
}

/** Engine errors as the client may see them: without the paths of our own pipes and spool files. */
function rethrow(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  const shown = text
    .replace(/ ?\(in file\/uri [^)]*\)/g, "")
    .replace(/: While executing File: data for INSERT was parsed from file/g, "")
    .replace(/: data for INSERT was parsed from file/g, "");
  throw parseException(shown);
}
