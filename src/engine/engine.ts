/**
 * The open database. Every query gets a connection of its own (about 0.2 ms): settings, parameters and temporary
 * tables end with it, and rows that a failed query had already formatted can never reach another caller. Used
 * connections are closed, and the next one is opened, while the engine is busy with a query and this thread is not.
 */
import { randomUUID } from "node:crypto";
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

/** How long a used connection may stay open when no other query comes. */
const tidyMs = 20;

/** How many of the parser's verdicts are kept, and on how long texts. */
const maxVerdicts = 1_000;
const verdictChars = 2_000;

/** An open connection that nobody has used, and the id that its query carries unless the client has given one. */
export type Fresh = { readonly connection: Connection; readonly queryId: string };

const newline = Buffer.from("\n");

export class Engine {
  readonly #addon: Addon;
  readonly #dataDir: string;
  /** Kept open so that the database stays loaded, and used for KILL QUERY. */
  readonly #control: Connection;
  /** Opened while nothing waited for it. */
  #spare: Fresh | undefined;
  readonly #verdicts = new Map<string, Classification>();
  readonly #used: Connection[] = [];
  #tidying: NodeJS.Timeout | undefined;

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

  /** Give it back with `retire`, used or not. */
  fresh(): Fresh {
    const spare = this.#spare ?? this.#open();
    this.#spare = undefined;
    return spare;
  }

  /** Only when no query of the connection is running. */
  close(connection: Connection): void {
    this.#addon.CloseConnection(connection);
  }

  /** The connection is closed when there is time for it. Only when no query of it is running. */
  retire(connection: Connection): void {
    this.#used.push(connection);
    this.#tidying ??= setTimeout(this.#tidy, tidyMs);
  }

  #open(): Fresh {
    const queryId = randomUUID();
    return { connection: this.connect([[tagSetting, queryId]]), queryId };
  }

  readonly #tidy = () => {
    clearTimeout(this.#tidying);
    this.#tidying = undefined;
    for (const connection of this.#used.splice(0)) this.close(connection);
    this.#spare ??= this.#open();
  };

  /** Runs a text and returns its result in `format`, or what it wrote to an OUTFILE as counters only. */
  async query(connection: Connection, sql: string, format: string): Promise<RawResult> {
    return await this.#busy(this.#addon.QueryAsyncConnection(connection, sql, format));
  }

  /** Runs a text that writes, and returns how much it wrote. */
  async write(connection: Connection, sql: string): Promise<RawWritten> {
    return await this.#busy(this.#addon.InsertRawAsyncConnection(connection, sql, newline, false));
  }

  /** The engine has just been given work: what is to be tidied up is done beside it. */
  async #busy<T>(work: Promise<T>): Promise<T> {
    if (this.#used.length > 0) setImmediate(this.#tidy);
    return await work.catch(rethrow);
  }

  /** What the parser says depends on the text alone, and clients send the same short ones again and again. */
  async classify(sql: string): Promise<Classification> {
    const known = this.#verdicts.get(sql);
    if (known !== undefined) return known;
    const verdict = await this.#addon.DurableClassifyAsync(this.#control, sql, "default");
    if (sql.length > verdictChars) return verdict;
    if (this.#verdicts.size >= maxVerdicts) this.#verdicts.delete(this.#verdicts.keys().next().value as string);
    this.#verdicts.set(sql, verdict);
    return verdict;
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
