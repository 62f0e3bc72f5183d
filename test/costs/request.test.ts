/** What an authenticated request costs: processor time against a bare server that answers the same bytes. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cpuRatio } from "../../harness/cost.ts";
import { type Api, startApi } from "../api/harness.ts";

const requests = 400;

/** Sends each request when the one before is answered, in a thread of its own: its time does not count. */
const client = `
const { parentPort } = require("node:worker_threads");
const { connect } = require("node:net");
parentPort.on("message", ({ port, head, requests }) => {
  let [left, text] = [requests, ""];
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const next = () => (left-- > 0 ? socket.write(head) : socket.end(() => parentPort.postMessage("done")));
  socket.once("connect", next).setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
    const end = text.indexOf("\\r\\n\\r\\n");
    const length = Number(/content-length: (\\d+)/i.exec(text)?.[1]);
    if (end === -1 || text.length < end + 4 + length) return;
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(text);
    text = "";
    next();
  });
});
`;

let api: Api;
let bare: Server;
const sender = new Worker(client, { eval: true });

beforeAll(async () => {
  api = await startApi({ rateLimit: 100_000_000 });
  await api.server.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await sender.terminate();
  bare.close();
  await api[Symbol.asyncDispose]();
});

async function sendAll(port: number, head: string): Promise<void> {
  const done = new Promise((resolve, reject) => sender.once("message", resolve).once("error", reject));
  sender.postMessage({ port, head, requests });
  await done;
  sender.removeAllListeners("error");
}

test("an unchanged list costs less than twice a bare answer", async () => {
  const path = `/v1/organizations/${api.organizationId}/pipes`;
  const authorization = `Basic ${Buffer.from(`${api.keyId}:${api.keySecret}`).toString("base64")}`;
  const { port } = api.server.server.address() as AddressInfo;
  const answer = await (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } })).text();
  const bytes = Buffer.from(answer);
  bare = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": bytes.length });
    response.end(bytes);
  });
  await new Promise<void>((done) => bare.listen(0, "127.0.0.1", done));
  const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n\r\n`;
  const ratio = await cpuRatio(
    () => sendAll(port, head),
    () => sendAll((bare.address() as AddressInfo).port, head),
  );
  expect(ratio).toBeLessThan(1.95);
});
