/** Answers malformed and unfinished HTTP requests. They reach no route: the body has the members of both APIs. */
import { randomUUID } from "node:crypto";
import { maxHeaderSize } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../../lib/errors.ts";
import { errorBody } from "./errors.ts";

const answers: Readonly<Record<string, readonly [status: number, reason: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    "Request Header Fields Too Large",
    `The URL and headers have more than ${maxHeaderSize} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "The request was not complete in time."],
};
const malformed = [400, "Bad Request", "The request is not well-formed HTTP."] as const;

/** Ends the connection after the response. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const [status, reason, message] = answers[error.code ?? ""] ?? malformed;
  const refusal = new AppError("BAD_REQUEST", message);
  const body = JSON.stringify({ ...errorBody("management", refusal, randomUUID()), message, status });
  const type = "Content-Type: application/json; charset=utf-8";
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    type,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  if (!socket.writable) return void socket.destroy(error);
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
