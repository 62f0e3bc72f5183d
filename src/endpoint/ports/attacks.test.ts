/**
 * Requests that two HTTP parsers could read differently, and forged credentials, over raw connections: the engine
 * receives exactly the requests of the authenticated client, and nothing that was hidden in them.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLogger } from "../../lib/logger.ts";
import { Gateway } from "../gateway/gateway.ts";

const sha = (password: string) => createHash("sha256").update(password).digest("hex");
const users = [
  { name: "default", passwordSha256Hex: sha("pw"), readonly: false },
  { name: "reader", passwordSha256Hex: sha("pé"), readonly: true },
];

type Seen = { readonly line: string; readonly headers: IncomingMessage["headers"]; readonly body: string };
let seen: Seen[];
let engine: Server;
let gateway: Gateway;

beforeEach(async () => {
  seen = [];
  engine = createServer(async (message, response) => {
    const body = (await buffer(message)).toString("latin1");
    seen.push({ line: `${message.method} ${message.url}`, headers: message.headers, body });
    response.end("ran");
  });
  await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
  const { port } = engine.address() as AddressInfo;
  const acquire = async () => ({ forwardAddress: { port, key: "k" }, release: () => {} });
  gateway = new Gateway({ logger: createLogger("silent"), backend: { acquire, handoff: () => undefined } });
  const service = { id: "s", name: "s", host: "127.0.0.1", port: 0, users };
  await gateway.sync([{ ...service, ipAccessList: [{ source: "127.0.0.1" }] }]);
});
afterEach(async () => {
  await gateway.close();
  engine.closeAllConnections();
  engine.close();
});

const login = "Host: x\r\nX-ClickHouse-User: default\r\nX-ClickHouse-Key: pw\r\n";
const hidden = `POST /hidden HTTP/1.1\r\n${login}Content-Length: 0\r\n\r\n`;
/** Closes the connection, so that all answers can be awaited. */
const last = `GET /last?query=1 HTTP/1.1\r\n${login}Connection: close\r\n\r\n`;

/** Sends the bytes (latin1), `later` after the first answer, and returns the statuses of all answers. */
async function statusesOf(bytes: string, later = ""): Promise<string> {
  const socket = connect(gateway.portOf("s") as number, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(bytes, "latin1");
  socket.once("data", () => socket.write(later));
  const answers = await text(socket).catch(() => "");
  return [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status).join(" ");
}

const lines = () => seen.map(({ line }) => line);

describe("a request that says twice, or oddly, how long it is", () => {
  test.each([
    ["both lengths", `Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
    ["both lengths, the other way round", `Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n${hidden}`],
    ["two lengths", `Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`],
    ["a list of lengths", `Content-Length: 0, ${hidden.length}\r\n\r\n${hidden}`],
    ["a sign", `Content-Length: +${hidden.length}\r\n\r\n${hidden}`],
    ["a length beyond 64 bits", `Content-Length: 18446744073709551616\r\n\r\n${hidden}`],
    ["a space before the colon", `Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${hidden}`],
    ["a folded header", `Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${hidden}`],
    ["an unknown coding", `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`],
    ["another coding behind chunked", `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`],
    ["a header after a bare line feed", `X-A: b\nContent-Length: 0\r\n\r\n${hidden}`],
    ["a header after a bare carriage return", `X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
    ["a zero byte in a header", `X-A: b\0\r\nContent-Length: 0\r\n\r\n${hidden}`],
    ["a line feed in a chunk extension", `Transfer-Encoding: chunked\r\n\r\n1;a\n0\r\n\r\n${hidden}`],
    ["chunks between bare line feeds", `Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n${hidden}`],
    ["a chunk beyond 64 bits", `Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n${hidden}`],
    ["lengths in trailers", `Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n${hidden}`],
  ])("%s", async (_, rest) => {
    // What stands before the error may have been handed on; what was hidden behind it may not.
    expect(await statusesOf(`POST /first HTTP/1.1\r\n${login}${rest}${last}`)).toMatch(/^400$/);
    expect(lines().filter((line) => line !== "POST /first")).toEqual([]);
  });

  test.each(["GET", "HEAD"])("the body of a %s is not a request", async (method) => {
    const first = `${method} /first HTTP/1.1\r\n${login}Content-Length: ${hidden.length}\r\n\r\n${hidden}`;
    expect(await statusesOf(first + last)).toBe("200 200");
    expect(lines()).toEqual([`${method} /first`, "GET /last?query=1"]);
    expect(seen.map(({ body }) => body)).toEqual(["", ""]);
  });

  test.each(["GET /ping", "OPTIONS /", "POST /replicas_status"])("nor is that of a probe: %s", async (probe) => {
    const first = `${probe} HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`;
    expect(await statusesOf(first + last)).toMatch(/^20[04] 200$/);
    expect(lines()).toEqual(["GET /last?query=1"]);
  });

  test("nor that of a refused login, after which the connection closes", async () => {
    const refused = "Host: x\r\nX-ClickHouse-Key: wrong\r\n";
    const first = `POST /first HTTP/1.1\r\n${refused}Content-Length: ${hidden.length}\r\n\r\n${hidden}`;
    expect(await statusesOf(first + last)).toMatch(/^403/);
    expect(lines()).not.toContain("POST /hidden");
  });
});

describe("targets", () => {
  test.each(["//", "http://[", "http://", "//:0x", "http://a:99999/"])(
    "%s is an error of the client",
    async (target) => {
      expect(await statusesOf(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toBe("400");
    },
  );

  test("user info in an absolute target is not a login", async () => {
    const head = "GET http://default:pw@x/?query=1 HTTP/1.1\r\nHost: default:pw@x\r\nConnection: close\r\n\r\n";
    expect(await statusesOf(head)).toBe("401");
    expect(seen).toEqual([]);
  });

  test.each(["CONNECT 127.0.0.1:22 HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n"])("%j reaches nobody", async (line) => {
    expect(await statusesOf(`${line}${login}Connection: close\r\n\r\n`)).toMatch(/^(400)?$/);
    expect(seen).toEqual([]);
  });

  test("a connection that asks for another protocol closes after the answer in HTTP", async () => {
    const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n";
    expect(await statusesOf(`GET /first HTTP/1.1\r\n${login}${upgrade}\r\n${hidden}`, last)).toBe("200");
    expect(lines()).toEqual(["GET /first"]);
    expect(seen[0]?.headers).not.toHaveProperty("upgrade");
  });
});

describe("credentials in odd places", () => {
  const one = (path: string, headers: string) =>
    statusesOf(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 0\r\nConnection: close\r\n\r\n`);

  test.each([
    ["a second name", "/", "X-ClickHouse-User: default\r\nX-ClickHouse-User: reader\r\nX-ClickHouse-Key: pw\r\n"],
    ["a name in the URL beside a header", "/?user=reader", "X-ClickHouse-Key: pw\r\n"],
    ["Basic beside a header", "/", `Authorization: Basic ${btoa("default:pw")}\r\nX-ClickHouse-User: reader\r\n`],
    ["a password that is escaped twice", "/?password=%2570w", ""],
    ["a zero byte behind the password", "/?password=pw%00", ""],
    ["a zero byte behind the name", "/?user=default%00&password=pw", ""],
    ["a name in capitals", "/?user=DEFAULT&password=pw", ""],
    ["bytes that are not UTF-8", "/?user=reader&password=p%e9", ""],
    ["a password of a million bytes", `/?password=${"p".repeat(1_000_000)}`, ""],
    ["headers of our own", "/", "X-Millrace-User: default\r\nX-Millrace-Readonly: 0\r\nX-Millrace-Key: k\r\n"],
  ])("%s is not a login", async (_, path, headers) => {
    expect(await one(path, headers)).toMatch(/^(401|403)$/);
    expect(seen).toEqual([]);
  });

  test("of two passwords in the URL one is checked, and neither is forwarded", async () => {
    expect(await one("/?password=pw&password=no&x=1&p%61ssword=no&us%65r=reader", "")).toBe("403");
    expect(await one("/?password=pw&password=no&x=1&p%61ssword=no&us%65r=default", "")).toBe("200");
    expect(lines()).toEqual(["POST /?x=1"]);
  });

  test("headers that name an address or a user are ours alone", async () => {
    const forged = ["X-Millrace-Address", "X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Millrace-Restricted"];
    const headers = forged.map((name) => `${name}: 203.0.113.9\r\n`).join("");
    expect(await one("/", `${headers}X-ClickHouse-Key: pw\r\n`)).toBe("200");
    expect(seen[0]?.headers).toMatchObject({ "x-millrace-address": "127.0.0.1", "x-millrace-restricted": "0" });
    expect(JSON.stringify(seen[0]?.headers)).not.toContain("203.0.113.9");
  });
});
