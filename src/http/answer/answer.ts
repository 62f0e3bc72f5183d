/**
 * Writes the responses of the management API: all headers and the text in one write, bypassing the router's own work.
 */
import type { FastifyReply } from "fastify";

/**
 * Sends 200 with the envelope. `headers` are names and values, alternating; `json` is the result, if there is one, and
 * `bytes` its length in UTF-8.
 */
export function sendEnvelope(
  reply: FastifyReply,
  headers: readonly string[],
  json: string | undefined,
  bytes = Buffer.byteLength(json ?? ""),
): void {
  const text = envelope(reply, 200, json);
  const length = text.length + bytes - (json ?? "").length;
  writeText(reply, 200, jsonType, headers, text, length);
}

/** Sends the envelope with another status. */
export function sendResult(reply: FastifyReply, status: number, headers: readonly string[], json: string): void {
  const text = envelope(reply, status, json);
  writeText(reply, status, jsonType, headers, text, Buffer.byteLength(text));
}

const jsonType = ["content-type", "application/json; charset=utf-8"];

function envelope({ request }: FastifyReply, status: number, json: string | undefined): string {
  // Ids are UUIDs and need no escaping.
  const head = `{"status":${status},"requestId":"${request.id}"`;
  return json === undefined ? `${head}}` : `${head},"result":${json}}`;
}

/** Sends 200 with text. `headers` are names and values, alternating, with the type of the content. */
export function sendText(reply: FastifyReply, headers: readonly string[], text: string): void {
  writeText(reply, 200, [], headers, text, Buffer.byteLength(text));
}

function writeText(
  reply: FastifyReply,
  status: number,
  type: readonly string[],
  headers: readonly string[],
  text: string,
  length: number,
): void {
  reply.hijack();
  // Node writes the same bytes of an ASCII text as Latin-1 in a quarter less time than as UTF-8.
  const encoding = length === text.length ? "latin1" : "utf8";
  reply.raw.writeHead(status, ["content-length", `${length}`, ...type, ...headers]).end(text, encoding);
}

/** Sends 304: the caller's copy is current. */
export function sendNotModified(reply: FastifyReply, headers: readonly string[]): void {
  reply.hijack();
  reply.raw.writeHead(304, [...headers]).end();
}
