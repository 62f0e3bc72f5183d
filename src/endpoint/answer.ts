/**
 * The responses that this program writes in place of an engine, with the head that a ClickHouse server writes: the
 * answer to a request that failed, in the error format of the HTTP interface, and the head of an empty one.
 */
import { randomInt, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { packagedVersion } from "../clickhouse/version.ts";
import type { LineLogger } from "../lib/deferred-logger.ts";

/** Its response header. The id of a query that was not run is only known here. */
export const queryIdHeader = "X-ClickHouse-Query-Id";

const exposed = ["Query-Id", "Summary", "Server-Display-Name", "Format", "Timezone", "Exception-Code", "Exception-Tag"];
const noSummary = JSON.stringify(
  Object.fromEntries(
    "read_rows read_bytes written_rows written_bytes total_rows_to_read result_rows result_bytes elapsed_ns memory_usage"
      .split(" ")
      .map((name) => [name, "0"]),
  ),
);

/** In the order in which a server prefers them. */
const encoders = [
  ["br", brotliCompressSync],
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["zstd", zstdCompressSync],
] as const;

/**
 * Sends the error, or breaks the connection when a response has begun. Anything but a ClickHouseException is logged.
 * `loggedIn`: the client is known, so that its parameters count, as in a server.
 */
export function answerFailure(
  message: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  logger: LineLogger,
  { loggedIn = false }: { readonly loggedIn?: boolean } = {},
): void {
  if (response.destroyed) return;
  if (response.headersSent) {
    response.socket?.destroySoon();
    return;
  }
  const known = error instanceof ClickHouseException;
  if (!known) logger.error({ err: error }, "request failed");
  const shown = known ? error : clickHouseException("UNKNOWN_EXCEPTION", "The request failed inside the server.");
  if (response.statusCode === 200) response.statusCode = shown.httpStatus;
  setCommonHeaders(response);
  if (loggedIn) setQueryHeaders(message, response);
  response.setHeader("Content-Type", "text/plain; charset=UTF-8");
  response.setHeader("X-ClickHouse-Exception-Code", String(shown.code));
  const text = Buffer.from(shown.format(packagedVersion));
  const body = loggedIn ? encoded(message, response, text) : text;
  response.setHeader("Content-Length", body.length);
  // The rest of the body is not needed; a client that is still sending gets the response and then the connection
  // closes.
  if (!message.complete) response.setHeader("Connection", "close");
  response.end(body, () => message.resume());
}

/** Answers a statement without a result that the engine does not run. */
export function answerEmpty(message: IncomingMessage, response: ServerResponse): void {
  setCommonHeaders(response);
  setQueryHeaders(message, response);
  response.writeHead(200, { "Content-Type": "text/tab-separated-values; charset=UTF-8", "Content-Length": "0" }).end();
}

function setCommonHeaders(response: ServerResponse): void {
  response.setHeader("Access-Control-Expose-Headers", exposed.map((name) => `X-ClickHouse-${name}`).join(","));
  response.setHeader("X-ClickHouse-Summary", noSummary);
  const letters = Array.from({ length: 16 }, () => String.fromCharCode(97 + randomInt(26)));
  response.setHeader("X-ClickHouse-Exception-Tag", letters.join(""));
}

function setQueryHeaders(message: IncomingMessage, response: ServerResponse): void {
  const parameters = parametersOf(message);
  const id = String(response.getHeader(queryIdHeader) ?? (parameters.get("query_id") || randomUUID()));
  response.setHeader(queryIdHeader, id.replace(/[^\x20-\x7e]/g, "?"));
  response.setHeader("X-ClickHouse-Timezone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  if (message.headers.origin !== undefined && isOn(parameters.get("add_http_cors_header") ?? "0")) {
    response.setHeader("Access-Control-Allow-Origin", "*");
  }
}

/** Compressed if the client takes that. */
function encoded(message: IncomingMessage, response: ServerResponse, text: Buffer): Buffer {
  const accepted = String(message.headers["accept-encoding"] ?? "");
  const found = encoders.find(([name]) => accepted.includes(name));
  if (found === undefined || !isOn(parametersOf(message).get("enable_http_compression") ?? "1")) return text;
  const [name, encode] = found;
  response.setHeader("Content-Encoding", name);
  return encode(text);
}

function parametersOf(message: IncomingMessage): URLSearchParams {
  return new URLSearchParams((message.url ?? "").split("?").slice(1).join("?"));
}

function isOn(value: string): boolean {
  return value === "1" || value === "true";
}
