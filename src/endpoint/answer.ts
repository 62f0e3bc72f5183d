/** The response to a request that failed, in the error format of the ClickHouse HTTP interface. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { packagedVersion } from "../clickhouse/version.ts";
import type { LineLogger } from "../lib/deferred-logger.ts";

/**
 * Sends the error, or breaks the connection when a response has begun. Anything but a ClickHouseException is logged.
 */
export function answerFailure(
  message: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  logger: LineLogger,
): void {
  if (response.destroyed) return;
  if (response.headersSent) {
    response.socket?.destroySoon();
    return;
  }
  const known = error instanceof ClickHouseException;
  if (!known) logger.error({ err: error }, "request failed");
  const shown = known ? error : clickHouseException("UNKNOWN_EXCEPTION", "The request failed inside the server.");
  const text = shown.format(packagedVersion);
  if (response.statusCode === 200) response.statusCode = shown.httpStatus;
  response.setHeader("Content-Type", "text/plain; charset=UTF-8");
  response.setHeader("X-ClickHouse-Exception-Code", String(shown.code));
  response.setHeader("Content-Length", Buffer.byteLength(text));
  // The rest of the body is not needed; a client that is still sending gets the response and then the connection
  // closes.
  if (!message.complete) response.setHeader("Connection", "close");
  response.end(text, () => message.resume());
}
