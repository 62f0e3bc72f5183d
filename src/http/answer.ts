/** Writes the answers of interface A: all headers at once, and the text in the same write, past the router's own work. */
import type { FastifyReply } from "fastify";

/** Answers 200 with the envelope. `headers` are names and values in turn; `json` is the result, if there is one. */
export function sendEnvelope(reply: FastifyReply, headers: readonly string[], json: string | undefined): void {
  // Ids are uuids and need no escaping.
  const head = `{"status":200,"requestId":"${reply.request.id}"`;
  const text = json === undefined ? `${head}}` : `${head},"result":${json}}`;
  const type = ["content-type", "application/json; charset=utf-8", "content-length", `${Buffer.byteLength(text)}`];
  reply.hijack();
  reply.raw.writeHead(200, type.concat(headers)).end(text);
}

/** Answers 304: the caller has what it asked for. */
export function sendNotModified(reply: FastifyReply, headers: readonly string[]): void {
  reply.hijack();
  reply.raw.writeHead(304, [...headers]).end();
}
