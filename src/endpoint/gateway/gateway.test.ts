import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { createLogger } from "../../lib/logger.ts";
import { accessCheck } from "../auth/access-list.ts";
import type { GatewayBackend, GatewayService } from "./backend.ts";
import { Gateway } from "./gateway.ts";

const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const service = (over: Partial<GatewayService> = {}): GatewayService => ({
  id: "s",
  name: "s",
  host: "127.0.0.1",
  port: 0,
  ipAccessList: [{ source: "127.0.0.0/8" }],
  users: [
    { name: "default", passwordSha256Hex: sha("pw"), readonly: false },
    { name: "reader", passwordSha256Hex: sha(""), readonly: true },
  ],
  ...over,
});

let dir: string;
let engine: Server;
let gateway: Gateway;
let leases = 0;
let seen: { url: string; headers: Record<string, unknown>; body: string }[] = [];
let backend: GatewayBackend;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "mr-gw-"));
  seen = [];
  leases = 0;
  engine = createServer({ maxHeaderSize: 4_194_304 }, (request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      seen.push({ url: request.url ?? "", headers: request.headers, body });
      if (body === "cut") response.write("half", () => request.socket.destroy());
      else response.end(`got ${body}`);
    });
  });
  await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
  backend = {
    handoff: () => undefined,
    acquire: async () => {
      leases += 1;
      return {
        forwardAddress: { port: (engine.address() as AddressInfo).port, key: "k" },
        release: () => {
          leases -= 1;
        },
      };
    },
  };
  gateway = new Gateway({
    logger: createLogger("silent"),
    backend: { acquire: (id, signal) => backend.acquire(id, signal), handoff: () => undefined },
  });
  await gateway.sync([service()]);
});
afterEach(async () => {
  await gateway.close();
  engine.closeAllConnections();
  engine.close();
  rmSync(dir, { recursive: true });
});

const url = (path = "/") => `http://127.0.0.1:${gateway.portOf("s")}${path}`;
const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;
const post = (body: string, init: RequestInit = {}, path = "/") =>
  fetch(url(path), { method: "POST", body, ...init, headers: { "X-ClickHouse-Key": "pw", ...init.headers } });

describe("login", () => {
  test.each([
    ["headers", "/", { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "pw" }, 200],
    ["Basic", "/", { Authorization: basic("default", "pw") }, 200],
    ["URL", "/?user=default&password=pw", {}, 200],
    ["an empty password", "/", { "X-ClickHouse-User": "reader" }, 200],
    ["nobody", "/", {}, 401],
    ["a wrong password", "/", { "X-ClickHouse-Key": "no" }, 403],
    ["an unknown name", "/", { Authorization: basic("root", "pw") }, 403],
    ["two ways at once", "/?user=default&password=pw", { "X-ClickHouse-Key": "pw" }, 403],
    ["a broken header", "/", { Authorization: "Bearer x" }, 403],
  ])("by %s", async (_, path, headers, status) => {
    const answer = await fetch(url(path), { method: "POST", body: "x", headers: headers as Record<string, string> });
    expect(answer.status).toBe(status);
    if (status !== 200) expect(await answer.text()).toMatch(/^Code: 516\. .*AUTHENTICATION_FAILED/);
  });

  test("guessing is slowed down, and keeps nobody out who has the password", async () => {
    const abort = new AbortController();
    const statuses: number[] = [];
    const guess = async (i: number) => {
      const init = { headers: { "X-ClickHouse-Key": `guess ${i}` }, signal: abort.signal };
      const answer = await post("x", init).catch(() => undefined);
      if (answer !== undefined) statuses.push(answer.status);
    };
    const guesses = Array.from({ length: 40 }, (_, i) => guess(i));
    // Three at once; eight wait, the last of them for seconds; the rest are too many, and by then those may be too.
    await expect.poll(() => statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(29);
    expect(statuses.filter((status) => status === 403).length).toBeLessThan(11);
    for (let i = 0; i < 10; i += 1) expect((await post("x")).status).toBe(200);
    expect(statuses.length).toBeLessThan(40);
    abort.abort();
    await Promise.all(guesses);
  });

  test("credentials and trusted headers of a client do not reach the engine", async () => {
    const headers = {
      "X-Millrace-Internal": "1",
      "X-Millrace-Readonly": "0",
      "X-ClickHouse-Format": "CSV",
      "X-ClickHouse-User": "reader",
      "X-ClickHouse-Key": "",
      // Browsers send the cookies of all ports of a host.
      Cookie: "millrace_session_8150=secret",
      Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    await post("x", { headers }, "/?query_id=a%26b&p%61ssword_x=1&max_threads=1");
    await fetch(url("/?a=1&user=reader&passw%6frd=&b=2"), { method: "POST", body: "x" });
    expect(seen[0]?.headers).toMatchObject({
      "x-millrace-readonly": "2",
      "x-millrace-restricted": "0",
      "x-millrace-user": "reader",
      "x-clickhouse-format": "CSV",
      traceparent: headers.Traceparent,
    });
    expect(seen[0]?.headers).not.toHaveProperty("x-millrace-internal");
    expect(seen[0]?.headers).not.toHaveProperty("x-clickhouse-key");
    expect(seen[0]?.headers).not.toHaveProperty("cookie");
    expect(seen[0]?.url).toContain("query_id=a%26b");
    expect(seen[1]?.url).toBe("/?a=1&b=2");
  });
});

describe("gatekeepers", () => {
  test("the access list", async () => {
    await gateway.sync([service({ ipAccessList: [{ source: "10.0.0.0/8" }] })]);
    const answer = await post("x");
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain("127.0.0.1 is not allowed");
  });

  test("ping needs no login and wakes nobody", async () => {
    const answer = await fetch(url("/ping"));
    expect([answer.status, await answer.text(), leases]).toEqual([200, "Ok.\n", 0]);
  });

  test("a stopped service answers 503 in the protocol's words", async () => {
    backend.acquire = () => Promise.reject(new AppError("SERVICE_UNAVAILABLE", "The service is stopped."));
    const answer = await post("x");
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(/^Code: 210\. DB::Exception: The service is stopped\./);
  });

  test("a port in use fails only its own service", async () => {
    const taken = createNetServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const failures = await gateway.sync([service(), service({ id: "other", port })]);
    expect([...failures.keys()]).toEqual(["other"]);
    expect((await post("x")).status).toBe(200);
    await new Promise((resolve) => taken.close(resolve));
    expect((await gateway.sync([service(), service({ id: "other", port })])).size).toBe(0);
    expect(gateway.portOf("other")).toBe(port);
  });

  test("new users and passwords hold at once, removed services are closed", async () => {
    await gateway.sync([service({ users: [{ name: "default", passwordSha256Hex: sha("new"), readonly: false }] })]);
    expect((await post("x")).status).toBe(403);
    const open = url();
    await gateway.sync([]);
    await expect(fetch(open)).rejects.toThrow();
  });
});

describe("bytes", () => {
  test("a removed service with a request under way holds up no other listener, and its port is free", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    backend.acquire = () => new Promise(() => ask());
    const port = gateway.portOf("s") as number;
    const waiting = fetch(`http://127.0.0.1:${port}/?query=SELECT`, { headers: { "X-ClickHouse-Key": "pw" } });
    let isOver = false;
    waiting.catch(() => {
      isOver = true;
    });
    await asked;
    expect(await gateway.sync([service({ id: "next", port })])).toEqual(new Map());
    // Requests in progress get two seconds: the listener does not wait for their end.
    expect(isOver).toBe(false);
    expect((await fetch(`http://127.0.0.1:${port}/ping`)).status).toBe(200);
  });

  test("an answer that the engine cut off is a broken connection", async () => {
    const answer = await post("cut");
    await expect(answer.text()).rejects.toThrow();
    expect(leases).toBe(0);
  });

  test("an engine that is gone is an error, and nothing is leaked", async () => {
    backend.acquire = async () => ({ forwardAddress: { port: 1, key: "k" }, release: () => {} });
    const answer = await post("x");
    expect([answer.status, (await answer.text()).slice(0, 10)]).toEqual([503, "Code: 210."]);
  });

  test("URLs of a megabyte", async () => {
    const long = "x".repeat(1_000_000);
    expect((await post("x", {}, `/?query=${long}`)).status).toBe(200);
    expect(seen[0]?.url.length).toBeGreaterThan(1_000_000);
  });

  test("two lengths in one request are refused", async () => {
    const socket = connect(gateway.portOf("s") as number, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    const text = await new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(chunk.toString())));
    expect(text).toMatch(/^HTTP\/1.1 400/);
    expect(seen).toEqual([]);
    socket.destroy();
  });
});

describe("access lists", () => {
  test.each([
    [["0.0.0.0/0"], "1.2.3.4", true],
    [["0.0.0.0/0"], "::1", true],
    [[], "127.0.0.1", false],
    [["10.1.0.0/16"], "::ffff:10.1.2.3", true],
    [["10.1.0.0/16"], "10.2.0.1", false],
    [["2001:db8::/32"], "2001:db8::5", true],
    [["2001:db8::/32"], "2001:db9::5", false],
    [["10.0.0.1"], "10.0.0.1", true],
    [["10.0.0.1/33", "nonsense", "10.0.0.1/8/8"], "10.0.0.1", false],
    [["::/0"], undefined, false],
  ])("%j lets %s in: %s", (sources, address, expected) => {
    expect(accessCheck(sources)(address)).toBe(expected);
  });
});
