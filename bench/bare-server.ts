/**
 * The peers of the `api` benchmark, each in a process of its own: answers every request with the bytes it received at
 * start. With headers, it writes those as well, and a request id of its own into each answer: what the interface
 * demands of every server.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type Asked = { readonly text: string; readonly headers?: readonly string[] };

process.once("message", ({ text, headers }: Asked) => {
  const bytes = Buffer.from(text);
  const [before = "", after = ""] = text.split(/[0-9a-f]{8}-[0-9a-f-]{27}(.*)/s);
  const server = createServer((_request, response) => {
    if (headers !== undefined) {
      response.writeHead(200, ["content-length", `${bytes.length}`, ...headers]);
      response.end(`${before}${randomUUID()}${after}`, "latin1");
      return;
    }
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": bytes.length });
    response.end(bytes);
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));
