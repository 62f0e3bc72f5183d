/** What the HTTP framework refuses by itself is answered in the form of the API, with one of its error codes. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorCodes } from "../../src/lib/errors.ts";
import { type Api, startApi } from "./harness.ts";

const host = "Connection: close\r\nHost: localhost";
const json = "Content-Type: application/json";

describe("a request as it is on the wire", () => {
  let api: Api;
  let port: number;
  beforeAll(async () => {
    api = await startApi({ requestTimeoutMs: 300, checkEveryMs: 50 });
    await api.server.listen({ host: "127.0.0.1", port: 0 });
    port = (api.server.server.address() as { port: number }).port;
  });
  afterAll(() => api[Symbol.asyncDispose]());

  /** `lines` with the credentials, where the words `AUTH` and `SERVICES` stand. */
  function written(lines: readonly string[], body: string): string {
    const login = Buffer.from(`${api.keyId}:${api.keySecret}`).toString("base64");
    const head = lines
      .join("\r\n")
      .replace("AUTH", `Authorization: Basic ${login}`)
      .replace("SERVICES", `/v1/organizations/${api.organizationId}/services`);
    return `${head}\r\n\r\n${body}`;
  }

  const long = "x".repeat(300);
  const rows: [what: string, status: number, code: string, says: RegExp, lines: string[], body: string][] = [
    [
      "a long parameter",
      400,
      "BAD_REQUEST",
      /serviceId: must be a uuid/,
      [`GET SERVICES/${long} HTTP/1.1`, host, "AUTH"],
      "",
    ],
    ["a long parameter without credentials", 401, "UNAUTHORIZED", /./, [`GET SERVICES/${long} HTTP/1.1`, host], ""],
    ["a long unknown path", 404, "NOT_FOUND", /There is no GET/, [`GET /v1/${long} HTTP/1.1`, host], ""],
    [
      "a wrong percent sign",
      400,
      "BAD_REQUEST",
      /URL is not well-formed/,
      ["GET SERVICES/%zz HTTP/1.1", host, "AUTH"],
      "",
    ],
    ["a wrong percent sign in a path that is unknown", 400, "BAD_REQUEST", /URL/, ["GET /%zz HTTP/1.1", host], ""],
    [
      "a wrong URL under an unknown name",
      421,
      "MISDIRECTED_REQUEST",
      /Host/,
      ["GET /%zz HTTP/1.1", "Host: evil.example", "Connection: close"],
      "",
    ],
    [
      "no Host",
      400,
      "BAD_REQUEST",
      /Host header is missing/,
      ["GET SERVICES HTTP/1.1", "AUTH", "Connection: close"],
      "",
    ],
    [
      "another content type",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      /application\/json/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", "Content-Type: text/plain", "Content-Length: 2"],
      "{}",
    ],
    [
      "a content type that is none",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      /application\/json/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", "Content-Type: ;", "Content-Length: 2"],
      "{}",
    ],
    [
      "a body without a type",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      /application\/json/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", "Content-Length: 2"],
      "{}",
    ],
    [
      "QUERY without a type",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      /application\/json/,
      ["QUERY /v1/nothing HTTP/1.1", host, "AUTH", "Content-Length: 0"],
      "",
    ],
    ["no body", 400, "INVALID_JSON", /empty/, ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: 0"], ""],
    [
      "a body that is announced as too large",
      413,
      "PAYLOAD_TOO_LARGE",
      /more than \d+ bytes/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: 99999999"],
      "",
    ],
    [
      "a chunked body that is too large",
      413,
      "PAYLOAD_TOO_LARGE",
      /more than \d+ bytes/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Transfer-Encoding: chunked"],
      `200000\r\n${" ".repeat(0x200000)}\r\n0\r\n\r\n`,
    ],
    [
      "a length that is not a number",
      400,
      "BAD_REQUEST",
      /well-formed HTTP/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: ten"],
      "{}",
    ],
    [
      "two lengths",
      400,
      "BAD_REQUEST",
      /well-formed HTTP/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: 2", "Content-Length: 3"],
      "{}",
    ],
    [
      "a length and chunks",
      400,
      "BAD_REQUEST",
      /well-formed HTTP/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: 2", "Transfer-Encoding: chunked"],
      "0\r\n\r\n",
    ],
    [
      "a chunk that is none",
      400,
      "BAD_REQUEST",
      /well-formed HTTP/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Transfer-Encoding: chunked"],
      "zz\r\n",
    ],
    ["an unknown method", 400, "BAD_REQUEST", /well-formed HTTP/, ["FETCH SERVICES HTTP/1.1", host, "AUTH"], ""],
    [
      "a method that no operation has",
      404,
      "NOT_FOUND",
      /There is no/,
      ["PROPFIND SERVICES HTTP/1.1", host, "AUTH"],
      "",
    ],
    [
      "a head that is too large",
      431,
      "BAD_REQUEST",
      /more than 16384 bytes/,
      ["GET SERVICES HTTP/1.1", host, `X-Filler: ${"x".repeat(20_000)}`],
      "",
    ],
    [
      "a head without an end",
      408,
      "BAD_REQUEST",
      /in time/,
      ["GET SERVICES HTTP/1.1", host, "X-Filler: UNFINISHED"],
      "",
    ],
    [
      "a body without an end",
      408,
      "BAD_REQUEST",
      /in time/,
      ["POST SERVICES HTTP/1.1", host, "AUTH", json, "Content-Length: 9"],
      "{",
    ],
    ["no HTTP", 400, "BAD_REQUEST", /well-formed HTTP/, ["hello"], ""],
    ["HTTP/2 without TLS", 400, "BAD_REQUEST", /well-formed HTTP/, ["PRI * HTTP/2.0"], "SM\r\n\r\n"],
  ];

  test.each(rows)("%s: %i %s", async (_what, status, code, says, lines, body) => {
    const request = written(lines, body).replace(/UNFINISHED\s*$/, "");
    const answer = await said(connect(port, "127.0.0.1"), request);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ status, code, requestId: expect.any(String) });
    expect(answer.body.error).toMatch(says);
    expect(errorCodes).toHaveProperty(code);
  });

  test("an expectation that nobody knows is ignored", async () => {
    const lines = ["GET SERVICES HTTP/1.1", host, "AUTH", "Expect: miracles"];
    expect((await said(connect(port, "127.0.0.1"), written(lines, ""))).status).toBe(200);
  });
});

test("a request on an open connection while the server closes is refused in the form of the API", async () => {
  await using api = await startApi();
  await api.server.listen({ host: "127.0.0.1", port: 0 });
  const { port } = api.server.server.address() as { port: number };
  const socket = connect(port, "127.0.0.1");
  // The body is missing: the connection is busy, and stays open.
  socket.write(`POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\n${json}\r\nContent-Length: 2\r\n\r\n`);
  await new Promise((resolve) => api.server.server.once("request", resolve));
  const closed = api.server.close();
  const answer = said(socket, `{}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await closed;
  expect((await answer).body).toMatchObject({ status: 503, code: "OVERLOADED" });
});

type Said = {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies under test are looked at member by member
  readonly body: any;
};

/** The last response before the server ends the connection. */
async function said(socket: Socket, request: string): Promise<Said> {
  // The server may end the connection before it has read the whole request.
  socket.on("error", () => {});
  socket.write(request);
  const chunks: string[] = [];
  socket.on("data", (chunk) => chunks.push(String(chunk)));
  await new Promise((resolve) => socket.once("close", resolve));
  const last = chunks
    .join("")
    .split(/HTTP\/1\.1 (?=\d)/)
    .at(-1) as string;
  return { status: Number.parseInt(last, 10), body: JSON.parse(last.slice(last.indexOf("\r\n\r\n") + 4)) };
}
