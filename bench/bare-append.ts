/**
 * The peer of the `push` benchmark, in a process of its own: appends every body to a file, syncs once for all that
 * wait, and answers them.
 */
import { open } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

process.once("message", async (path: string) => {
  const file = await open(path, "w");
  const waiting: { body: Buffer[]; response: ServerResponse }[] = [];
  let isFlushing = false;
  const flush = async () => {
    isFlushing = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0);
      await file.writev(group.flatMap(({ body }) => body));
      await file.datasync();
      for (const { response } of group) response.writeHead(202, { "content-length": 2 }).end("{}");
    }
    isFlushing = false;
  };
  const server = createServer((request, response) => {
    const body: Buffer[] = [];
    request.on("data", (piece: Buffer) => body.push(piece));
    request.on("end", () => {
      waiting.push({ body, response });
      if (!isFlushing) void flush();
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));
