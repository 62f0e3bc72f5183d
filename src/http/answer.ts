/** Writes the answers of interface A: all headers at once, and the text in the same write, past the router's own work. */
import type { FastifyReply } from "fastify";
import { remember } from "../lib/remember.ts";

/** Answers 200 with the envelope. `headers` are names and values in turn. Absent results are left out. */
export function sendEnvelope(reply: FastifyReply, headers: readonly string[], result: object | undefined): void {
  const { text, bytes } = result === undefined ? noResult : Object.isFrozen(result) ? frozenTail(result) : tail(result);
  // Ids are uuids and need no escaping.
  const head = `{"status":200,"requestId":"${reply.request.id}"`;
  const type = ["content-type", "application/json; charset=utf-8", "content-length", `${head.length + bytes}`];
  reply.hijack();
  // Text as long as its bytes is ASCII, which leaves without being encoded.
  reply.raw.writeHead(200, type.concat(headers)).end(head + text, bytes === text.length ? "latin1" : "utf8");
}

type Tail = { readonly text: string; readonly bytes: number };

/** The rest of the envelope. */
function tail(result: object): Tail {
  const text = `,"result":${JSON.stringify(result)}}`;
  return { text, bytes: Buffer.byteLength(text) };
}

/** Results that cannot change keep their JSON. */
const frozenTail = remember(tail);
const noResult: Tail = { text: "}", bytes: 1 };
