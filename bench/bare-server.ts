/**
 * The peer of the `api` benchmark, in a process of its own: answers every request with the bytes it received at start.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

process.once("message", (text: string) => {
  const bytes = Buffer.from(text);
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": bytes.length });
    response.end(bytes);
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));
