/**
 * A ClickHouse HTTP client. Bytes stay bytes: callers get the response stream, or text or rows on request. Engine
 * errors become `ClickHouseError` with the engine's code.
 */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Agent, type IncomingMessage, request } from "../lib/node-http.ts";
import { withoutMiddle } from "../lib/public-text.ts";
import { clickHouseCodes } from "./error-codes.ts";
import { type Host, hostHealth, isForAnotherHost, limitConnecting } from "./hosts.ts";

/** A ClickHouse HTTP endpoint with its credentials. */
export type ClickHouseAddress = {
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  /** Names without a database are in it; default: the server's own. */
  readonly database?: string;
  /** Settings of every request. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** HTTPS. `ca`: certificates in PEM that are trusted instead of the public authorities. */
  readonly tls?: { readonly ca?: string };
  /** A server that is not an engine of this program: `openAgent` is required. */
  readonly isExternal?: true;
  /** An external server whose address no user has written: it follows `managedPolicy` of src/outgoing. */
  readonly isManaged?: true;
  /** Creates a client's agent, which follows the address policy. Messages between processes do not carry it. */
  readonly openAgent?: () => Agent;
  /** Other replicas of the same shard, reached alike: see `hosts.ts`. */
  readonly others?: readonly Host[];
  /** The cluster that tables are made on. */
  readonly cluster?: string;
  /** How often the service's engine had ended by an error of its own when this one began; absent where nobody knows. */
  readonly crashes?: number;
};

export type QueryOptions = {
  readonly database?: string;
  readonly queryId?: string;
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Settings that only save work: a server that does not know one of them is asked again without them. */
  readonly tuning?: Readonly<Record<string, string | number | boolean>>;
  /** Bound as `{name:Type}` parameters, already in the engine's text form. */
  readonly params?: Readonly<Record<string, string>>;
  /** Data of an INSERT; the statement is then sent in the URL. A Buffer must not change before the response. */
  readonly body?: Buffer | Readable;
  /** The body, a Buffer, is a table of this name for the statement. The engine limits the statement to 128 KiB. */
  readonly bodyTable?: { readonly name: string; readonly structure: string; readonly format: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Which of several working hosts is asked first, as any number; statements with the same number ask the same one. */
  readonly spread?: number;
  readonly signal?: AbortSignal;
};

export type Summary = {
  readonly readRows: number;
  readonly readBytes: number;
  readonly writtenRows: number;
  readonly writtenBytes: number;
};

export class ClickHouseError extends Error {
  /** The engine's numeric error code; 0 when the response had none. */
  readonly code: number;
  readonly httpStatus: number;

  constructor(code: number, httpStatus: number, message: string) {
    super(message);
    this.name = "ClickHouseError";
    this.code = code;
    this.httpStatus = httpStatus;
  }
}

/**
 * A server behind a network that says nothing for this long is away. Meanwhile a busy one sends the progress of the
 * query, as header lines of its response.
 */
const silenceMs = 60_000;
/** Time for a connection where another host can be asked. */
const connectMs = 5_000;
const progressSettings = { send_progress_in_http_headers: 1, http_headers_progress_interval_ms: 15_000 };
/** Room for the progress of a day. */
const maxHeaderSize = 4 * 1_048_576;

export class ClickHouseClient {
  readonly #address: ClickHouseAddress;
  readonly #hosts: readonly Host[];
  readonly #agent: Agent;

  /** Throws a TypeError for an external server without an agent. */
  constructor(address: ClickHouseAddress) {
    if (address.isExternal === true && address.openAgent === undefined) {
      throw new TypeError("connections to an external server need an agent that follows the address policy");
    }
    this.#address = address;
    this.#hosts = [{ host: address.host, port: address.port }, ...(address.others ?? [])];
    this.#agent = address.openAgent?.() ?? new Agent({ keepAlive: true, maxSockets: 64 });
  }

  /** The cluster that tables are made on; undefined for a single server. */
  get cluster(): string | undefined {
    return this.#address.cluster;
  }

  /** Grows when an engine of the service has ended by an error of its own. */
  get crashes(): number {
    return this.#address.crashes ?? 0;
  }

  /** Runs a statement and reads the whole answer as text. */
  async text(sql: string, options: QueryOptions = {}): Promise<string> {
    const response = await this.stream(sql, options);
    return await text(response);
  }

  /** Runs a query and returns its rows as objects (`FORMAT JSONEachRow`, 64-bit integers as strings). */
  async rows<Row = Record<string, unknown>>(sql: string, options: QueryOptions = {}): Promise<Row[]> {
    const settings = { output_format_json_quote_64bit_integers: 1, ...options.settings, default_format: "JSONEachRow" };
    const body = await this.text(sql, { ...options, settings });
    return body
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Row);
  }

  /** Runs a statement that returns nothing, and reports what it read and wrote. */
  async command(sql: string, options: QueryOptions = {}): Promise<Summary> {
    const response = await this.stream(sql, { ...options, settings: { wait_end_of_query: 1, ...options.settings } });
    const summary = parseSummary(response.headers["x-clickhouse-summary"]);
    await text(response);
    return summary;
  }

  /**
   * Runs a statement; the returned message is the response body as it arrives. Throws on an engine error. Each of
   * several hosts is tried once. When none can, the first error of an engine is thrown, if any answered.
   */
  async stream(sql: string, { tuning, ...options }: QueryOptions = {}): Promise<IncomingMessage> {
    if (tuning === undefined) return await this.#stream(sql, options);
    try {
      return await this.#stream(sql, { ...options, settings: { ...options.settings, ...tuning } });
    } catch (error) {
      if (!(error instanceof ClickHouseError && error.code === clickHouseCodes.UNKNOWN_SETTING)) throw error;
      return await this.#stream(sql, options);
    }
  }

  async #stream(sql: string, options: QueryOptions): Promise<IncomingMessage> {
    if (this.#hosts.length === 1) return await this.#answer(await this.#send(this.#address, sql, options));
    let first: unknown;
    for (const host of hostHealth.order(this.#hosts, options.spread)) {
      try {
        const response = await this.#answer(await this.#send(host, sql, options));
        hostHealth.answered(host);
        return response;
      } catch (error) {
        const isEngines = error instanceof ClickHouseError;
        if (options.signal?.aborted || (isEngines && !isForAnotherHost(error.code))) throw error;
        hostHealth.failed(host);
        if (first === undefined || (isEngines && !(first instanceof ClickHouseError))) first = error;
        // A stream that has been sent cannot be sent again.
        if (options.body !== undefined && !Buffer.isBuffer(options.body)) break;
      }
    }
    throw first;
  }

  async #answer(response: IncomingMessage): Promise<IncomingMessage> {
    if (response.statusCode === 200) return response;
    const body = await text(response);
    const code = Number(response.headers["x-clickhouse-exception-code"] ?? /^Code: (\d+)/.exec(body)?.[1] ?? 0);
    throw new ClickHouseError(code, response.statusCode ?? 0, withoutMiddle(body.trim(), 4000));
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #send({ host, port }: Host, sql: string, options: QueryOptions): Promise<IncomingMessage> {
    const query = new URLSearchParams();
    query.set("query_id", options.queryId ?? randomUUID());
    const { user, password, tls, isExternal = false } = this.#address;
    const database = options.database ?? this.#address.database;
    if (database !== undefined) query.set("database", database);
    const settings = { ...(isExternal ? progressSettings : {}), ...options.settings, ...this.#address.settings };
    for (const [name, value] of Object.entries(settings)) query.set(name, settingText(value));
    for (const [name, value] of Object.entries(options.params ?? {})) query.set(`param_${name}`, value);
    const headers: Record<string, string> = { ...options.headers };
    const body =
      options.bodyTable === undefined
        ? bodyOf(sql, options.body)
        : tableForm(sql, options.bodyTable, options.body, headers);
    if (body === options.body) query.set("query", sql);
    if (isExternal) Object.assign(headers, basicAuthorization(user, password));
    else {
      if (user !== undefined) headers["X-ClickHouse-User"] = user;
      if (password !== undefined) headers["X-ClickHouse-Key"] = password;
    }
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request({
        protocol: tls === undefined ? "http:" : "https:",
        host,
        port,
        method: "POST",
        path: `/?${query}`,
        headers,
        agent: this.#agent,
        signal: options.signal,
        ...(isExternal ? { timeout: silenceMs, maxHeaderSize } : {}),
      });
      outgoing.on("timeout", () => outgoing.destroy(new Error(`timed out: silent for ${silenceMs / 1000} s`)));
      if (this.#hosts.length > 1) limitConnecting(outgoing, connectMs);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      if (typeof body === "string" || Buffer.isBuffer(body)) outgoing.end(body);
      else pipeline(body, outgoing).catch(reject);
    });
  }
}

/** Credentials with any characters, which headers of their own could not have. The user's name has no colon. */
export function basicAuthorization(user = "default", password = ""): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
}

/** A longer statement is sent before its data in the body: URLs are limited (`http_max_uri_size`, 1 MiB). */
const maxUrlStatement = 65_536;

function bodyOf(sql: string, data: QueryOptions["body"]): string | NonNullable<QueryOptions["body"]> {
  if (data === undefined) return sql;
  return Buffer.isBuffer(data) && sql.length > maxUrlStatement ? Buffer.concat([Buffer.from(`${sql}\n`), data]) : data;
}

/** A form with the statement and a table, as the engine's "external data" has it. Sets the header that says so. */
function tableForm(
  sql: string,
  { name, structure, format }: NonNullable<QueryOptions["bodyTable"]>,
  data: QueryOptions["body"],
  headers: Record<string, string>,
): Buffer {
  const boundary = randomUUID();
  headers["content-type"] = `multipart/form-data; boundary=${boundary}`;
  const part = (disposition: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name=${disposition}\r\n\r\n${value}`;
  const fields = { query: sql, [`${name}_structure`]: structure, [`${name}_format`]: format };
  const head = Object.entries(fields).map(([field, value]) => `${part(`"${field}"`, value)}\r\n`);
  const start = `${head.join("")}${part(`"${name}"; filename="${name}"`, "")}`;
  return Buffer.concat([Buffer.from(start), data as Buffer, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

function settingText(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}

/** The content of a summary header; zero for missing values. */
export function parseSummary(header: string | string[] | undefined): Summary {
  let fields: Record<string, string> = {};
  try {
    fields = JSON.parse(String(header ?? "{}")) as Record<string, string>;
  } catch {
    // A foreign server may send no summary or a malformed one; counters are then zero.
  }
  return {
    readRows: Number(fields.read_rows ?? 0),
    readBytes: Number(fields.read_bytes ?? 0),
    writtenRows: Number(fields.written_rows ?? 0),
    writtenBytes: Number(fields.written_bytes ?? 0),
  };
}
