/** Pages and metrics: who may request them under which name, and the headers of every response. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { hostCheck } from "../../src/http/request/hosts.ts";
import { type Api, startApi } from "./harness.ts";

const pages = ["/", "/docs", "/openapi.json", "/health", "/metrics"];
const services = "/v1/organizations/{o}/services";

describe("by which name", () => {
  test.each([
    ["localhost:8123", true],
    ["LOCALHOST.", true],
    ["app.localhost", true],
    ["127.0.0.1:8123", true],
    ["192.0.2.7", true],
    ["[::1]:8123", true],
    ["millrace.example:443", true],
    ["evil.example", false],
    ["evil.example:8123", false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["millrace.example.evil.example", false],
    ["", false],
    ["a b", false],
    ["[::1", false],
    ["localhost:8123:1", false],
    [undefined, true],
  ])("%s: %s", (host, allowed) => {
    expect(hostCheck(["Millrace.example", "0.0.0.0"])(host)).toBe(allowed);
  });

  const apis = ["/v1/me", services, "/api/v2/sources", "/console/session", "/nothing"];

  test.each([...pages, ...apis])("%s asks, with and without a key, and says what to do", async (path) => {
    await using api = await startApi({ publicHost: "millrace.example" });
    for (const keyed of [{ auth: null }, {}]) {
      const rebound = await api.call("GET", path, { ...keyed, headers: { host: "evil.example:8123" } });
      expect([rebound.status, rebound.body.code]).toEqual([421, "MISDIRECTED_REQUEST"]);
      expect(rebound.body.error).toContain("set --public-host");
      const named = await api.call("GET", path, { ...keyed, headers: { host: "millrace.example" } });
      expect(named.status).not.toBe(421);
    }
  });

  test("every operation, page and method is asked for under a known name, and changes nothing otherwise", async () => {
    await using api = await startApi();
    const operations = Object.values({ ...managementOperations, ...observabilityOperations });
    const requests = [
      ...operations.map(({ method, path }) => [method, path.replaceAll(/\{\w+\}/g, api.organizationId)]),
      ...["GET", "POST", "DELETE"].map((method) => [method, "/console/session"]),
      ...["/docs/operations/getMe", "/docs/guides/pipes", "/docs/search?q=x"].map((path) => ["GET", path]),
      ...["OPTIONS", "TRACE", "QUERY"].map((method) => [method, "/metrics"]),
    ] as const;
    const writes = () => api.db.revision() - api.db.othersRevision();
    const before = writes();
    for (const [method, path] of requests) {
      const rebound = await api.call(method as string, path as string, { headers: { host: "evil.example:8150" } });
      expect([method, path, rebound.status]).toEqual([method, path, 421]);
    }
    expect(writes()).toBe(before);
  });

  test("a server in a network accepts any name with credentials, and none without", async () => {
    await using api = await startApi({ listensOn: "0.0.0.0" });
    const headers = { host: "data.internal:8150" };
    expect((await api.call("GET", "/v1/me", { headers })).status).toBe(200);
    for (const path of [...pages, ...apis]) {
      expect([path, (await api.call("GET", path, { auth: null, headers })).status]).toEqual([path, 421]);
    }
    // A page elsewhere can send this header too, and `/metrics` trusts this machine.
    const junk = { auth: "Bearer x", headers };
    for (const page of pages) expect((await api.call("GET", page, junk)).status).toBe(421);
    const cookie = "millrace_session_8150=x";
    const session = { ...headers, cookie, "sec-fetch-site": "same-origin" };
    expect((await api.call("GET", "/v1/me", { auth: null, headers: session })).status).toBe(421);
  });
});

describe("metrics", () => {
  const ask = async (api: Api, remoteAddress: string, headers: Record<string, string> = {}) => {
    return await api.server.inject({ method: "GET", url: "/metrics", remoteAddress, headers });
  };

  test("without a token: from this machine, and not through a proxy on it", async () => {
    await using api = await startApi();
    expect((await ask(api, "127.0.0.1")).statusCode).toBe(200);
    expect((await ask(api, "::1")).statusCode).toBe(200);
    expect((await ask(api, "192.0.2.7")).statusCode).toBe(403);
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host"]) {
      expect((await ask(api, "127.0.0.1", { [name]: "x" })).statusCode).toBe(403);
    }
    // An administrator of one organization may not see the names of the others.
    const { text } = await api.call("GET", "/metrics", { headers: { "x-forwarded-for": "192.0.2.7" } });
    expect(text).toContain("FORBIDDEN");
  });

  test("with a token: only with it, from anywhere", async () => {
    const token = "0123456789abcdef";
    await using api = await startApi({ metricsToken: token, loginFailureLimit: 3 });
    const refused = await ask(api, "127.0.0.1");
    expect([refused.statusCode, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    const right = { authorization: `Bearer ${token}`, "x-forwarded-for": "192.0.2.9" };
    expect((await ask(api, "192.0.2.7", right)).statusCode).toBe(200);
    const guesses = [];
    for (let i = 0; i < 4; i += 1) {
      guesses.push((await ask(api, "192.0.2.7", { authorization: `Bearer ${token}${i}` })).statusCode);
    }
    expect(guesses).toEqual([401, 401, 401, 429]);
    expect((await ask(api, "192.0.2.7", right)).statusCode).toBe(200);
  });
});

describe("headers", () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi({ requestTimeoutMs: 300, checkEveryMs: 50 });
  });
  afterAll(() => api[Symbol.asyncDispose]());

  test("answers of the API are kept by nobody, or asked for again each time, and are what they say", async () => {
    const { headers: listed } = await api.call("GET", services);
    expect(listed).toMatchObject({ "cache-control": "private, no-cache", "x-content-type-options": "nosniff" });
    const answers = [
      await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "k", roles: ["admin"] } }),
      await api.call("GET", services, { auth: null }),
      await api.call("GET", "/v1/nothing"),
      await api.call("POST", services, { body: "{" }),
      await api.call("GET", "/metrics"),
    ];
    for (const { headers } of answers) {
      expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
      expect(headers).not.toHaveProperty("strict-transport-security");
    }
  });

  test("pages run no scripts and stand in nobody's frame", async () => {
    for (const page of ["/docs", "/openapi.json"]) {
      const { headers, text } = await api.call("GET", page, { auth: null });
      expect(headers["content-security-policy"]).toMatch(/default-src 'none';.*frame-ancestors 'none'/);
      expect(headers).toMatchObject({ "x-frame-options": "DENY", "cache-control": "no-cache" });
      expect(text).not.toContain("<script");
    }
  });

  test("a body that does not end is given up, and what is not a request is answered in the form of the API", async () => {
    await api.server.listen({ host: "127.0.0.1", port: 0 });
    const { port } = api.server.server.address() as { port: number };
    const socket = connect(port, "127.0.0.1");
    let said = "";
    socket.on("data", (chunk) => {
      said += String(chunk);
    });
    const auth = Buffer.from(`${api.keyId}:${api.keySecret}`).toString("base64");
    const path = services.replace("{o}", api.organizationId);
    const head = [`POST ${path} HTTP/1.1`, "Host: localhost", `Authorization: Basic ${auth}`];
    socket.write(`${[...head, "Content-Type: application/json", "Content-Length: 100"].join("\r\n")}\r\n\r\n{`);
    // The server may have ended the connection before the next byte.
    socket.on("error", () => {});
    const drip = setInterval(() => socket.write(" "), 50);
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(drip);
    expect(said).toMatch(/^HTTP\/1.1 408 /);
    for (const [status, request] of [
      [431, `GET /${"x".repeat(20_000)} HTTP/1.1\r\n\r\n`],
      [400, "no request\r\n\r\n"],
    ] as const) {
      const refused = connect(port, "127.0.0.1", () => refused.write(request));
      const answer = String(Buffer.concat(await refused.toArray()));
      const [head, body] = answer.split("\r\n\r\n") as [string, string];
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(JSON.parse(body)).toMatchObject({ status, code: "BAD_REQUEST", requestId: expect.any(String) });
      // No path says which API was meant: the members of both are there.
      expect(JSON.parse(body).message).toMatch(/^The /);
    }
  });
});

test("/health, which needs no credentials, names failing loops and no reason with hosts, files or names", async () => {
  const loop = { name: "services", running: true, passes: 5, consecutiveFailures: 4 };
  const lastError = "connect ECONNREFUSED 10.1.2.3:5432, reading /var/lib/millrace of the service payroll";
  await using api = await startApi({ loops: [{ ...loop, lastError }] });
  const { body, text } = await api.call("GET", "/health", { auth: null });
  expect(body).toMatchObject({ status: "degraded", loops: [loop] });
  expect(text).not.toMatch(/10\.1\.2\.3|millrace of|payroll/);
});
