/** Two ends of the relay on 127.0.0.1: the gateway of one server, and the listener of another. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogger } from "../../lib/logger.ts";
import { answerFailure } from "../answer.ts";
import type { AuthenticatedHandler } from "../auth/gatekeeper.ts";
import type { DatabasePrincipal } from "../auth/logins.ts";
import { UpstreamPool } from "../forward/upstream.ts";
import { relayConnector, relayKeyOf } from "./channel.ts";
import { forwardToServer } from "./forward-to-server.ts";
import { RelayListener } from "./listener.ts";

const logger = createLogger("silent");
const key = relayKeyOf(Buffer.alloc(32, 1));
const client: DatabasePrincipal = { user: "añna", readonly: 2, restricted: true, address: "203.0.113.7" };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Seen = { serviceId: string; principal: DatabasePrincipal; url: string; body: string };
let seen: Seen[];
let port: number;

beforeEach(async () => {
  seen = [];
  const handlerOf =
    (serviceId: string): AuthenticatedHandler =>
    async (message, response, url, principal) => {
      // As the engine does: a GET has no body that anybody reads.
      const body = message.method === "POST" ? await text(message) : "";
      seen.push({ serviceId, principal, url: url.pathname + url.search, body });
      if (body === "cut") response.write("half", () => message.socket.destroy());
      else response.writeHead(200, { "X-ClickHouse-Summary": "{}" }).end(`got ${body.length}`);
    };
  const listener = new RelayListener({ key, logger, handlerOf, onNative: (_, socket) => socket.destroy() });
  port = await listener.listen("127.0.0.1", 0);
  closing.push(() => listener.close());
});

/** The gateway of a server with this key, whose clients are all the same. */
async function gateway(ownKey: Buffer, address: string | null = `127.0.0.1:${port}`): Promise<string> {
  const upstreams = new UpstreamPool((to: string) => relayConnector(to, ownKey));
  const forward = forwardToServer({ serviceId: "s1", address: () => address ?? undefined, upstreams });
  const server: Server = createServer((message, response) => {
    const url = new URL(message.url ?? "/", "http://host");
    forward(message, response, url, client).catch((error) => answerFailure(message, response, error, logger));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    upstreams.close();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a request arrives with the client that the other gateway has authenticated, and nobody else's", async () => {
  const url = await gateway(key);
  const headers = { "X-Millrace-Address": "198.51.100.1", "X-Millrace-User": "root", "X-Millrace-Service": "s2" };
  const answer = await fetch(`${url}/?query=SELECT%201&password=p`, { method: "POST", body: "rows", headers });
  expect([answer.status, await answer.text(), answer.headers.get("x-clickhouse-summary")]).toEqual([
    200,
    "got 4",
    "{}",
  ]);
  expect(seen).toEqual([{ serviceId: "s1", principal: client, url: "/?query=SELECT%201", body: "rows" }]);
});

test("large bodies pass, one connection takes several requests, and a truncated answer is a broken one", async () => {
  const url = await gateway(key);
  for (const size of [1, 8_000_000, 0]) {
    const answer = await fetch(url, { method: "POST", body: "x".repeat(size) });
    expect(await answer.text()).toBe(`got ${size}`);
  }
  const cut = await fetch(url, { method: "POST", body: "cut" });
  await expect(cut.text()).rejects.toThrow();
});

test.each(["GET", "HEAD"])("a body of a %s cannot become the beginning of the next request", async (method) => {
  const url = new URL(await gateway(key));
  const socket = connect(Number(url.port), url.hostname);
  const answers = text(socket);
  // The relay would take the head of the second request for the body of the first.
  const swallowed = 2_000;
  socket.write(`${method} /first HTTP/1.1\r\nHost: x\r\nContent-Length: ${swallowed}\r\n\r\n${"x".repeat(swallowed)}`);
  const own =
    "POST /own HTTP/1.1\r\nHost: x\r\nX-Millrace-Service: s2\r\nX-Millrace-User: root\r\nContent-Length: 0\r\n\r\n";
  const body = "\r\n".repeat(swallowed / 2) + own;
  await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: 30_000, interval: 5 });
  socket.end(`POST /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await answers;
  expect(seen.map(({ serviceId, url }) => [serviceId, url])).toEqual([
    ["s1", "/first"],
    ["s1", "/second"],
  ]);
});

test("a server with another key is refused in the handshake, and sends nothing of the request", async () => {
  const url = await gateway(relayKeyOf(Buffer.alloc(32, 2)));
  const answer = await fetch(url, { method: "POST", body: "x" });
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("does not answer")]);
  expect(seen).toEqual([]);
});

test("whoever speaks without encryption gets no answer", async () => {
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Millrace-Service: s1\r\nX-Millrace-User: default\r\n\r\n");
  const received = await text(socket).catch(() => "");
  expect(received).not.toContain("HTTP/1.1");
  expect(seen).toEqual([]);
});

test.each([
  ["a server that is not known", null, "does not run"],
  ["one that does not listen", "127.0.0.1:1", "127.0.0.1:1, which does not answer"],
])("%s is an error in ClickHouse's style", async (_, address, words) => {
  const answer = await fetch(await gateway(key, address), { method: "POST", body: "x" });
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringMatching(`^Code: 210\\. .*${words}`)]);
});
