/** The gateway on a port of 127.0.0.1: how a request finds its service by host name. */
import { createHash } from "node:crypto";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hello, NativeClient, newest } from "../../../harness/native/client.ts";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { createLogger } from "../../lib/logger.ts";
import type { AccessEvent } from "../auth/events.ts";
import { RestingClients } from "../native/resting-clients.ts";
import { NameGateway } from "./name-gateway.ts";
import { type NamedService, NamedServices } from "./named-services.ts";

const [one, other] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const sha = (value: string) => createHash("sha256").update(value).digest("hex");
const service = (id: string, over: Partial<NamedService> = {}): NamedService => ({
  id,
  ipAccessList: [{ source: "127.0.0.0/8" }],
  users: [{ name: "default", passwordSha256Hex: sha("pw"), readonly: false }],
  elsewhere: undefined,
  hasNative: true,
  ...over,
});

const logger = createLogger("silent");
const namedServices = () =>
  new NamedServices({
    domain: "db.example",
    logger,
    handlerOf: (first, current) => async (_message, response, _url, principal) => {
      response.end(`${first.id} for ${principal.user} of ${principal.address}, ${current().elsewhere ?? "here"}`);
    },
    nativeOf: ({ id }, _current, logins, admission) => {
      const backend = { acquire: async () => Promise.reject(new Error("no engine runs")), handoff: () => undefined };
      return new RestingClients({ serviceId: id, backend, logins, logger, admission, handsOver: false });
    },
    refresh: async () => {
      refreshed += 1;
      onRefresh();
    },
    onEvent: (serviceId, event) => events.push({ serviceId, event }),
    toPipes: ({ url }, response) => response.end(`pushed to ${url}`),
  });

let services: NamedServices;
let gateway: NameGateway;
let port: number;
let refreshed: number;
let onRefresh: () => void;
let events: { serviceId: string; event: AccessEvent }[];

beforeEach(async () => {
  [refreshed, onRefresh, events] = [0, () => {}, []];
  services = namedServices();
  gateway = new NameGateway({
    logger,
    onNative: (socket) => void services.serveNative(socket),
    onRequest: (message, response) => void services.serve(message, response),
  });
  port = await gateway.listen("127.0.0.1", 0);
  services.sync([service(one), service(other, { elsewhere: "node-b" })]);
});
afterEach(() => gateway.close());

/** What a client of the native protocol hears, when it names this server in the TLS handshake. */
async function nativeAnswer(servername: string): Promise<string | undefined> {
  const tls = { pair: loopbackCertificate, onRenewed: () => () => {} };
  const secure = new NameGateway({
    ...{ tls, logger, onRequest: () => {} },
    onNative: (socket) => void services.serveNative(socket),
  });
  try {
    const at = await secure.listen("127.0.0.1", 0);
    const client = new NativeClient(connectTls({ port: at, servername, rejectUnauthorized: false }), newest);
    client.send(hello({ password: "wrong" }));
    const { exception } = await client.answer();
    await client.ended();
    return exception?.message;
  } finally {
    await secure.close();
  }
}

test("the native protocol is chosen by the server name, which must be that of a service here", async () => {
  services.sync([service(one), service(other, { hasNative: false })]);
  expect(await nativeAnswer(`${one}.db.example`)).toMatch(/password is incorrect/);
  expect(events).toMatchObject([{ serviceId: one, event: { type: "login_refused", user: "default" } }]);
  expect(await nativeAnswer(`${other}.db.example`)).toMatch(/on a server of its own/);
  const wanted = /the server name \(SNI\) of the connection is that of no service: it must be ID\.db\.example/i;
  for (const name of ["db.example", "33333333-3333-4333-8333-333333333333.db.example", "elsewhere.example"]) {
    expect(await nativeAnswer(name)).toMatch(wanted);
  }
});

type Answer = { status: number | undefined; body: string; headers: IncomingHttpHeaders };

async function ask(host: string, path = "/?query=x", options: { key?: string; agent?: Agent } = {}): Promise<Answer> {
  const headers = { Host: host, "X-ClickHouse-Key": options.key ?? "pw" };
  return await new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, headers, agent: options.agent ?? false });
    sent.once("response", async (answer) =>
      resolve({ status: answer.statusCode, body: await text(answer), headers: answer.headers }),
    );
    sent.once("error", reject).end();
  });
}

/** The bytes that the gateway sends for these. */
async function raw(bytes: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  socket.end(bytes);
  return await text(socket);
}

test("the host name chooses the service, and each request of a connection is judged by its own", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const bodies = [];
  for (const id of [one, other, one]) bodies.push((await ask(`${id}.db.example:${port}`, "/?query=x", { agent })).body);
  expect(bodies).toEqual([
    `${one} for default of 127.0.0.1, here`,
    `${other} for default of 127.0.0.1, node-b`,
    `${one} for default of 127.0.0.1, here`,
  ]);
  expect(events.map(({ serviceId, event }) => [serviceId, event.type])).toEqual([
    [one, "login"],
    [other, "login"],
  ]);
  agent.destroy();
});

test("login, access list and probes are those of the service", async () => {
  const wrong = await ask(`${one}.db.example`, "/?query=x", { key: "no" });
  expect([wrong.status, wrong.body]).toEqual([403, expect.stringMatching(/^Code: 516\. .*AUTHENTICATION_FAILED/)]);
  services.sync([service(one, { ipAccessList: [{ source: "10.0.0.0/8" }] }), service(other)]);
  expect((await ask(`${one}.db.example`)).status).toBe(403);
  expect((await ask(`${one}.db.example`, "/ping")).status).toBe(403);
  const probe = await ask(`${other}.db.example`, "/ping");
  expect([probe.status, probe.body]).toEqual([200, "Ok.\n"]);
});

test("the addresses of push pipes are those of the domain and of every service, without a login there", async () => {
  const asked = async (host: string, path: string) => (await ask(host, path, { key: "no" })).body;
  for (const host of [`${one}.db.example`, "db.example"]) {
    for (const path of ["/v1/push/a-pipe", "/v1/push/a-pipe?wait=true", "/v1/push/a-pipe/v1/logs"])
      expect(await asked(host, path)).toBe(`pushed to ${path}`);
  }
  for (const path of [
    "/v1/push/",
    "/v1/push/a/b",
    "/v1/push/a/../../organizations",
    "//v1/push/a",
    "/v1/organizations",
  ]) {
    expect(await asked(`${one}.db.example`, path)).toContain("AUTHENTICATION_FAILED");
    expect(await asked("db.example", path)).toContain("No service has the host name");
  }
  expect(await asked("33333333-3333-4333-8333-333333333333.db.example", "/v1/push/a")).toContain("No service has");
});

// Half a second; without that, such a connection is kept for half a minute.
const keptMs = 25_000;

test("a sender of a push pipe that is answered before the end of its body loses the connection", {
  timeout: keptMs,
}, async () => {
  const socket = connect({ host: "127.0.0.1", port });
  const answer = text(socket);
  socket.write(`POST /v1/push/a-pipe HTTP/1.1\r\nHost: ${one}.db.example\r\nContent-Length: 1000000\r\n\r\nsome`);
  expect(await answer).toContain("pushed to /v1/push/a-pipe");
});

describe("host names that lead to no service", () => {
  test.each([
    ["127.0.0.1:8123", 400, "is an address"],
    ["[::1]", 400, "is an address"],
    ["example.org", 404, "No service has the host name"],
    ["33333333-3333-4333-8333-333333333333.db.example", 404, "No service has the host name"],
    ["x.db.example", 404, "No service has the host name"],
    ["db.example", 404, "No service has the host name"],
  ])("%s", async (host, status, words) => {
    const answer = await ask(host);
    expect([answer.status, answer.body]).toEqual([status, expect.stringMatching(`^Code: 36\\. .*${words}`)]);
    expect(answer.body).toContain("ID.db.example");
    expect(answer.headers["x-clickhouse-exception-code"]).toBe("36");
  });

  test("the answer is the same with a right and with a wrong password", async () => {
    const host = "33333333-3333-4333-8333-333333333333.db.example";
    expect((await ask(host, "/?query=x", { key: "no" })).body).toBe((await ask(host)).body);
  });

  test("a request without the header, and one with two of them, get an error that says so", async () => {
    expect(await raw("GET /?query=x HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*no Host header/);
    expect(await raw("GET /?query=x HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*no Host header/);
    const two = `GET /?query=x HTTP/1.1\r\nHost: ${one}.db.example\r\nHost: ${other}.db.example\r\n\r\n`;
    expect(await raw(two)).toMatch(/^HTTP\/1.1 400 [\s\S]*several Host headers/);
  });

  test("a load balancer learns from the domain itself that the gateway works", async () => {
    const probe = await ask("db.example", "/ping");
    expect([probe.status, probe.body]).toEqual([200, "Ok.\n"]);
  });
});

test("a service of another server is found although it was created a moment ago, and unknown names ask rarely", async () => {
  const fresh = "44444444-4444-4444-8444-444444444444";
  onRefresh = () => services.sync([service(one), service(fresh)]);
  expect((await ask(`${fresh}.db.example`)).status).toBe(200);
  expect(refreshed).toBe(1);
  const unknown = Array.from({ length: 20 }, (_, at) => `${String(at).padStart(8, "0")}${one.slice(8)}.db.example`);
  const began = performance.now();
  const statuses = await Promise.all(unknown.map(async (host) => (await ask(host)).status));
  expect(new Set(statuses)).toEqual(new Set([404]));
  // At most one reading in half a second, however slow this machine is.
  expect(refreshed).toBeLessThanOrEqual(2 + (performance.now() - began) / 500);
  expect((await ask("no-id.db.example")).status).toBe(404);
});

test("a service that was removed is unknown, also on open connections", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect((await ask(`${one}.db.example`, "/?query=x", { agent })).status).toBe(200);
  services.sync([service(other)]);
  expect((await ask(`${one}.db.example`, "/?query=x", { agent })).status).toBe(404);
  agent.destroy();
});

test("a gateway that has just begun to listen finds its services, or asks for patience", async () => {
  services = namedServices();
  const early = await ask(`${one}.db.example`);
  expect([early.status, early.body]).toEqual([503, expect.stringMatching(/^Code: 210\. .*repeat the request/)]);
  services = namedServices();
  onRefresh = () => services.sync([service(one)]);
  expect((await ask(`${one}.db.example`)).status).toBe(200);
});
