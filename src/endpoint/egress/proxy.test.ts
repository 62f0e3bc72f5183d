/** The proxy of the engines, with plain clients on both sides. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownPorts } from "../../lib/own-ports.ts";
import { OutgoingPolicy } from "../../outgoing/policy.ts";
import { EgressProxy, type EgressProxyOptions } from "./proxy.ts";

const setting = "--sql-networks";
const policyOf = (reach: readonly string[], ownPorts: readonly number[] = []) =>
  new OutgoingPolicy({ reach, setting, ownPorts });

type Seen = { method: string; url: string; headers: NodeJS.Dict<string | string[]>; body: string };
let seen: Seen[] = [];
let upstream: Server;
let port = 0;
let proxies: EgressProxy[] = [];

beforeEach(async () => {
  seen = [];
  upstream = createServer(async (incoming, response) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const { method = "", url = "", headers } = incoming;
    seen.push({ method, url, headers, body });
    if (url === "/redirect") response.writeHead(307, { Location: `http://localhost:${port}/inner` }).end();
    else if (url === "/broken")
      response.writeHead(200, { "Content-Length": 10 }).write("abc", () => response.destroy());
    else response.writeHead(201, { "X-Kept": "1", Connection: "X-Dropped", "X-Dropped": "1" }).end(`hello ${body}`);
  });
  port = await listen(upstream);
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.closeAll();
  upstream.closeAllConnections();
  upstream.close();
});

async function listen(server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown }) {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

function proxyOf(policy: OutgoingPolicy, more: Partial<EgressProxyOptions> = {}): EgressProxy {
  const proxy = new EgressProxy({ policyFor: () => policy, ...more });
  proxies = [...proxies, proxy];
  return proxy;
}

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; body: string; complete: boolean };

async function through(proxy: number, target: string, more: { method?: string; body?: string; headers?: object } = {}) {
  const headers = { Host: "given.example", ...more.headers };
  const outgoing = request({ host: "127.0.0.1", port: proxy, path: target, method: more.method ?? "GET", headers });
  outgoing.end(more.body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  let body = "";
  response.setEncoding("utf8").on("data", (chunk: string) => {
    body += chunk;
  });
  await new Promise((done) => response.once("close", done));
  const { statusCode: status = 0, headers: answered, complete } = response;
  return { status, headers: answered, body, complete } satisfies Answer;
}

async function tunnel(proxy: number, authority: string): Promise<{ socket: Socket; status: number; body: string }> {
  const outgoing = request({ host: "127.0.0.1", port: proxy, method: "CONNECT", path: authority });
  outgoing.end();
  const [response, socket, head] = (await once(outgoing, "connect")) as [IncomingMessage, Socket, Buffer];
  let body = head.toString();
  if (response.statusCode !== 200) for await (const chunk of socket) body += chunk;
  return { socket, status: response.statusCode ?? 0, body };
}

describe("requests for http", () => {
  test("go on with method, path, headers and body, and their answers come back", async () => {
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    const headers = { "X-Mine": "1", "Proxy-Authorization": "Basic x", Connection: "X-Hop", "X-Hop": "1" };
    const answer = await through(at, `http://localhost:${port}/a?b=c%2F`, { method: "PUT", body: "data", headers });
    expect(answer).toMatchObject({ status: 201, body: "hello data", complete: true });
    expect(answer.headers).toMatchObject({ "x-kept": "1" });
    expect(answer.headers).not.toHaveProperty("x-dropped");
    expect(seen).toMatchObject([{ method: "PUT", url: "/a?b=c%2F", body: "data" }]);
    expect(seen[0]?.headers).toMatchObject({ host: "given.example", "x-mine": "1" });
    expect(seen[0]?.headers).not.toHaveProperty("x-hop");
    expect(seen[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  test("an answer that breaks off is not complete", async () => {
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    expect((await through(at, `http://127.0.0.1:${port}/broken`)).complete).toBe(false);
  });

  test("redirects are the client's business, and their target is checked like any other", async () => {
    const { port: at } = await proxyOf(policyOf(["127.0.0.2"])).open("s");
    const second = createServer((_, response) =>
      response.writeHead(307, { Location: `http://127.0.0.1:${port}/` }).end(),
    );
    await new Promise<void>((done) => second.listen(0, "127.0.0.2", done));
    const first = await through(at, `http://127.0.0.2:${(second.address() as AddressInfo).port}/redirect`);
    expect(first).toMatchObject({ status: 307 });
    expect(await through(at, String(first.headers.location))).toMatchObject({ status: 403 });
    expect(seen).toEqual([]);
    second.close();
  });

  test.each(["/relative", "https://h/", "ftp://h/", "http://u:p@h/", "*"])(
    "%s is not a request for a proxy",
    async (path) => {
      const { port: at } = await proxyOf(policyOf(["any"])).open("s");
      expect(await through(at, path)).toMatchObject({ status: 400 });
    },
  );

  test("a kept connection is not used again where another policy holds", async () => {
    let policy = policyOf(["any"]);
    const { port: at } = await proxyOf(policy, { policyFor: () => policy }).open("s");
    expect((await through(at, `http://127.0.0.1:${port}/`)).status).toBe(201);
    policy = new OutgoingPolicy({ reach: ["public"], setting: "--other", ownPorts: [] });
    expect((await through(at, `http://127.0.0.1:${port}/`)).status).toBe(403);
  });
});

describe("tunnels", () => {
  test("carry bytes both ways until both sides have ended", async () => {
    const echo = createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    const { socket, status } = await tunnel(at, `localhost:${await listen(echo)}`);
    expect(status).toBe(200);
    const sent = Buffer.alloc(5_000_000, "abc");
    socket.end(sent);
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    expect(Buffer.concat(parts).equals(sent)).toBe(true);
    echo.close();
  });

  test("the slower side sets the pace", async () => {
    let written = 0;
    const source = createTcpServer((socket) => {
      const chunk = Buffer.alloc(1_000_000);
      const write = () => {
        while (written < 500_000_000 && socket.write(chunk)) written += chunk.length;
      };
      socket.on("drain", write).on("error", () => {});
      write();
    });
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    const { socket } = await tunnel(at, `127.0.0.1:${await listen(source)}`);
    socket.pause();
    // Until nothing moves: all buffers in between are full.
    for (let before = -1; before !== written; ) {
      before = written;
      await new Promise((done) => setTimeout(done, 200));
    }
    expect(written).toBeLessThan(50_000_000);
    socket.destroy();
    source.close();
  });

  test.each(["localhost", "localhost:0", "localhost:99999", "a@b:1", "http://h:1"])(
    "%s is not a target",
    async (target) => {
      const { port: at } = await proxyOf(policyOf(["any"])).open("s");
      expect((await tunnel(at, target)).status).toBe(400);
    },
  );
});

describe("refused addresses", () => {
  test("are refused before any connection, whether anybody listens or not, and the answer names rule and setting", async () => {
    let connections = 0;
    upstream.on("connection", () => {
      connections += 1;
    });
    const closed = createTcpServer();
    const closedPort = await listen(closed);
    await new Promise((done) => closed.close(done));
    const { port: at } = await proxyOf(policyOf(["public"])).open("s");
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"]) {
      const answers = [
        await through(at, `http://${host}:${port}/`),
        await through(at, `http://${host}:${closedPort}/`),
        await tunnel(at, `${host}:${port}`),
        await tunnel(at, `${host}:${closedPort}`),
      ];
      const [open, closed, openTunnel, closedTunnel] = answers.map(({ status, body }) => ({ status, body }));
      expect([closed, closedTunnel], host).toEqual([open, openTunnel]);
      for (const answer of [open, openTunnel]) {
        expect(answer).toEqual({ status: 403, body: expect.stringContaining(setting) });
      }
    }
    expect(connections).toBe(0);
  });

  test("ports of the proxy itself are refused while they are open", async () => {
    const proxy = proxyOf(new OutgoingPolicy({ reach: ["any"], setting, ownPorts: [] }, () => ownPorts()));
    const { port: at } = await proxy.open("a");
    const { port: other } = await proxy.open("b");
    expect((await tunnel(at, `127.0.0.1:${other}`)).status).toBe(403);
    await proxy.close("b");
    expect((await tunnel(at, `127.0.0.1:${other}`)).status).toBe(502);
  });

  test("an allowed address where nobody listens is another answer", async () => {
    const closed = createTcpServer();
    const closedPort = await listen(closed);
    await new Promise((done) => closed.close(done));
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    for (const { status, body } of [
      await through(at, `http://127.0.0.1:${closedPort}/`),
      await tunnel(at, `127.0.0.1:${closedPort}`),
    ]) {
      expect({ status, body }).toEqual({ status: 502, body: expect.stringContaining("ECONNREFUSED") });
    }
  });
});

describe("bounds", () => {
  test("the policy is asked for the service whose port it is", async () => {
    const asked: string[] = [];
    const policyFor: EgressProxyOptions["policyFor"] = (serviceId, { host }) => {
      asked.push(`${serviceId} ${host}`);
      return policyOf(serviceId === "a" ? ["any"] : []);
    };
    const proxy = proxyOf(policyOf([]), { policyFor });
    const [a, b] = [await proxy.open("a"), await proxy.open("b")];
    expect(await proxy.open("a")).toEqual(a);
    expect((await through(a.port, `http://127.0.0.1:${port}/`)).status).toBe(201);
    expect((await through(b.port, `http://127.0.0.1:${port}/`)).status).toBe(403);
    expect(new Set(asked)).toEqual(new Set(["a 127.0.0.1", "b 127.0.0.1"]));
  });

  test("headers beyond 64 KiB are refused", async () => {
    const { port: at } = await proxyOf(policyOf(["any"])).open("s");
    const answer = await through(at, `http://127.0.0.1:${port}/`, { headers: { "X-Long": "x".repeat(70_000) } });
    expect(answer.status).toBe(431);
    expect(seen).toEqual([]);
  });

  test("connections beyond the limit are closed", async () => {
    const { port: at } = await proxyOf(policyOf(["any"]), { connections: 2 }).open("s");
    const sockets = [connect(at, "127.0.0.1"), connect(at, "127.0.0.1")];
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    const third = connect(at, "127.0.0.1");
    await once(third, "close");
    for (const socket of sockets) socket.destroy();
  });

  test("closing breaks the service's connections and tunnels, and nobody listens any more", async () => {
    const echo = createTcpServer((socket) => socket.pipe(socket).on("error", () => {}));
    const proxy = proxyOf(policyOf(["any"]));
    const { port: at } = await proxy.open("s");
    const { socket } = await tunnel(at, `127.0.0.1:${await listen(echo)}`);
    socket.on("error", () => {});
    await Promise.all([once(socket, "close"), proxy.close("s")]);
    const [error] = await once(connect(at, "127.0.0.1"), "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
    echo.close();
  });
});
