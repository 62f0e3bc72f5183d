/**
 * Writes the responses of the management API: all headers and the text in one write, bypassing the router's own work.
 */
import type { FastifyReply } from "fastify";

/** Sends 200 with the envelope. `headers` are names and values, alternating; `json` is the result, if there is one. */
export function sendEnvelope(reply: FastifyReply, headers: readonly string[], json: string | undefined): void {
  // Ids are UUIDs and need no escaping.
  const head = `{"status":200,"requestId":"${reply.request.id}"`;
  const text = json === undefined ? `${head}}` : `${head},"result":${json}}`;
  const type = ["content-type", "application/json; charset=utf-8", "content-length", `${Buffer.byteLength(text)}`];
  reply.hijack();
  reply.raw.writeHead(200, type.concat(headers)).end(text);
}

/** Sends 200 with text. `headers` are names and values, alternating, with the type of the content. */
export function sendText(reply: FastifyReply, headers: readonly string[], text: string): void {
  reply.hijack();
  reply.raw.writeHead(200, ["content-length", `${Buffer.byteLength(text)}`, ...headers]).end(text);
}

/** Sends 304: the caller's copy is current. */
export function sendNotModified(reply: FastifyReply, headers: readonly string[]): void {
  reply.hijack();
  reply.raw.writeHead(304, [...headers]).end();
}
