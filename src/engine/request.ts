/** Reads the request line and headers of the ClickHouse HTTP interface into one value. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { clickHouseException } from "../clickhouse/exception.ts";
import { guardSetting } from "./guard.ts";

export type Readonly012 = 0 | 1 | 2;

export type QueryRequest = {
  readonly queryId: string;
  /** The part of the statement that travelled in the URL. */
  readonly urlQuery: string;
  readonly database: string | undefined;
  readonly defaultFormat: string | undefined;
  /** Engine settings in the order given. */
  readonly settings: readonly (readonly [string, string])[];
  /** `{name:Type}` values in the engine's escaped text form. */
  readonly params: readonly (readonly [string, string])[];
  readonly session: { readonly id: string; readonly timeoutMs: number; readonly check: boolean } | undefined;
  /** What holds for this request: the user's own mode, and 2 for GET. */
  readonly readonly: Readonly012;
  /** The user's own mode. */
  readonly readonlyUser: Readonly012;
  /** From the control plane itself, not from a client: may use BACKUP and RESTORE. */
  readonly trusted: boolean;
  readonly user: string;
  /** Native block compression of the answer and of the body. */
  readonly compress: boolean;
  readonly decompress: boolean;
  readonly acceptEncoding: string;
  readonly contentEncoding: string;
  readonly waitEndOfQuery: boolean;
  readonly bufferBytes: number;
  readonly replaceRunning: boolean;
};

/** URL parameters of the protocol itself. Everything else is an engine setting. */
const protocolParameters = new Set([
  "query",
  "query_id",
  "database",
  "default_format",
  "user",
  "password",
  "quota_key",
  "compress",
  "decompress",
  "buffer_size",
  "wait_end_of_query",
  "http_wait_end_of_query",
  "http_response_buffer_size",
  "session_id",
  "session_timeout",
  "session_check",
  "close_session",
  "stacktrace",
  "role",
  "client_protocol_version",
  "enable_http_compression",
  "http_zlib_compression_level",
  "send_progress_in_http_headers",
  "http_headers_progress_interval_ms",
  "add_http_cors_header",
  "http_write_exception_in_output_format",
  "http_make_head_request",
  "replace_running_query",
  "cancel_http_readonly_queries_on_client_close",
]);

const settingName = /^[A-Za-z_][A-Za-z0-9_.]*$/;
const maxSessionTimeoutS = 3600;

/** Who asks. */
export type Caller = {
  readonly user: string;
  /** The user's own mode. */
  readonly readonly: Readonly012;
  /** From the control plane itself, not from a client: may use BACKUP and RESTORE. */
  readonly trusted: boolean;
  /** Name of the file that holds the insert data (`body-files.ts`). */
  readonly bodyFile: string | undefined;
};

/** The caller as headers of the private socket name it. Never for a connection of a client. */
export function callerOf(headers: IncomingHttpHeaders): Caller {
  const mode = one(headers, "x-millrace-readonly");
  return {
    user: decodeURIComponent(one(headers, "x-millrace-user") ?? "default"),
    readonly: mode === "1" ? 1 : mode === "2" ? 2 : 0,
    trusted: one(headers, "x-millrace-internal") === "1",
    bodyFile: one(headers, "x-millrace-body-file"),
  };
}

/** `newQueryId` gives an id to a query that has neither one nor a session. Throws what the client did wrong. */
export function readRequest(message: IncomingMessage, caller: Caller, newQueryId: () => string): QueryRequest {
  const url = new URL(message.url ?? "/", "http://host");
  const query = url.searchParams;
  const headers = message.headers;
  const flag = (name: string) => isTrue(query.get(name));
  const get = message.method === "GET" || message.method === "HEAD";
  const readonlyUser = caller.readonly;
  const readonly = readonlyUser === 0 && get ? 2 : readonlyUser;
  const session = readSession(query);
  return {
    urlQuery: query.getAll("query").join(""),
    database: query.get("database") ?? one(headers, "x-clickhouse-database") ?? undefined,
    defaultFormat: query.get("default_format") ?? one(headers, "x-clickhouse-format") ?? undefined,
    settings: readSettings(query),
    params: [...query].filter(([name]) => name.startsWith("param_")).map(([name, value]) => [readParam(name), value]),
    session,
    readonly,
    readonlyUser,
    trusted: caller.trusted,
    user: caller.user,
    compress: flag("compress"),
    decompress: flag("decompress"),
    acceptEncoding: flag("enable_http_compression") ? (one(headers, "accept-encoding") ?? "") : "",
    contentEncoding: (one(headers, "content-encoding") ?? "").trim().toLowerCase(),
    waitEndOfQuery: flag("wait_end_of_query") || flag("http_wait_end_of_query"),
    bufferBytes: readBufferSize(query.get("buffer_size") ?? query.get("http_response_buffer_size")),
    replaceRunning: flag("replace_running_query"),
    // Last, because the id may be that of a connection: nothing may throw behind it.
    queryId: readQueryId(query.get("query_id")) ?? (session === undefined ? newQueryId() : randomUUID()),
  };
}

function readSettings(query: URLSearchParams): [string, string][] {
  const settings: [string, string][] = [];
  for (const [name, value] of query) {
    if (protocolParameters.has(name) || name.startsWith("param_") || name === "") continue;
    if (!settingName.test(name)) throw clickHouseException("UNKNOWN_SETTING", `Unknown setting '${name}'.`);
    guardSetting(name);
    settings.push([name, value]);
  }
  return settings;
}

function readParam(name: string): string {
  const bare = name.slice("param_".length);
  if (!/^[A-Za-z0-9_]+$/.test(bare)) {
    throw clickHouseException("BAD_ARGUMENTS", `The query parameter name '${bare}' is not an identifier.`);
  }
  return bare;
}

function readQueryId(given: string | null): string | undefined {
  if (given === null || given === "") return undefined;
  if (given.length > 1000 || /[\0-\x1f\x7f]/.test(given)) {
    throw clickHouseException("BAD_ARGUMENTS", "query_id is too long or has control characters.");
  }
  return given;
}

function readSession(query: URLSearchParams): QueryRequest["session"] {
  const id = query.get("session_id");
  if (id === null || id === "") return undefined;
  const text = query.get("session_timeout") ?? "60";
  const seconds = Number(text);
  if (!/^\d+$/.test(text)) {
    throw clickHouseException("INVALID_SESSION_TIMEOUT", `Invalid session timeout: '${text}'`);
  }
  if (seconds > maxSessionTimeoutS) {
    throw clickHouseException(
      "INVALID_SESSION_TIMEOUT",
      `Session timeout '${text}' is larger than max_session_timeout: ${maxSessionTimeoutS}.`,
    );
  }
  return { id, timeoutMs: seconds * 1000, check: isTrue(query.get("session_check")) };
}

function readBufferSize(text: string | null): number {
  const size = Number(text ?? 1_048_576);
  return Number.isSafeInteger(size) && size >= 0 ? Math.min(size, 16 * 1_048_576) : 1_048_576;
}

function isTrue(value: string | null): boolean {
  return value === "1" || value === "true";
}

function one(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
