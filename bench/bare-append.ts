/**
 * The peers of the `push` benchmark, each in a process of its own: appends every body to a file, syncs once for all
 * that wait, and answers them. With an interface it also does what the interface demands of every server: it looks at
 * the key, counts the rows, keeps where a body begins with a checksum, and writes the headers and ids of an answer.
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { open } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { crc32 } from "node:zlib";

/** `after` is the text of an answer behind its request id and before what was accepted. */
export type Interface = { readonly authorization: string; readonly headers: readonly string[]; readonly after: string };
export type Asked = { readonly path: string; readonly interface?: Interface };

type Waiting = { readonly body: readonly Buffer[]; readonly rows: number; readonly response: ServerResponse };

process.once("message", async ({ path, interface: demanded }: Asked) => {
  const file = await open(path, "w");
  const waiting: Waiting[] = [];
  const key = digest(demanded?.authorization);
  let isFlushing = false;
  let offset = 0;
  const answer = ({ rows, response }: Waiting) => {
    if (demanded === undefined) return void response.writeHead(202, { "content-length": 2 }).end("{}");
    const text = `{"requestId":"${randomUUID()}"${demanded.after}{"offset":${offset},"rows":${rows}}}`;
    response.writeHead(202, ["content-length", `${text.length}`, ...demanded.headers]).end(text, "latin1");
    offset += rows;
  };
  const flush = async () => {
    isFlushing = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0);
      await file.writev(group.flatMap(({ body }) => body));
      await file.datasync();
      for (const one of group) answer(one);
    }
    isFlushing = false;
  };
  const server = createServer((request, response) => {
    if (demanded !== undefined && !timingSafeEqual(digest(request.headers.authorization), key)) {
      response.writeHead(401).end();
      return;
    }
    const body: Buffer[] = [];
    request.on("data", (piece: Buffer) => body.push(piece));
    request.on("end", () => {
      const rows = demanded === undefined ? 0 : countRows(body);
      waiting.push({ body: demanded === undefined ? body : framed(body, rows), rows, response });
      if (!isFlushing) void flush();
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));

function digest(authorization = ""): Buffer {
  return createHash("sha256").update(authorization).digest();
}

function countRows(body: readonly Buffer[]): number {
  let rows = 1;
  for (const piece of body) for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) rows += 1;
  return rows;
}

function framed(body: readonly Buffer[], rows: number): Buffer[] {
  const facts = Buffer.from(JSON.stringify({ n: rows, t: Date.now() }));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(body.reduce((sum, { length }) => sum + length, facts.length));
  head.writeUInt32LE(
    body.reduce((sum, piece) => crc32(piece, sum), crc32(facts)),
    4,
  );
  return [head, facts, ...body];
}
