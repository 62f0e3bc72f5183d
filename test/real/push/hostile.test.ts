/** What hostile or broken senders send to a pipe: it is refused in time, nothing of it is kept, and others go on. */
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../harness/network/free-port.ts";
import { rows } from "../../../harness/pipes.ts";
import { exportGrpc } from "../../../harness/push/grpc.ts";
import { type PushAddress, pushPipe, send } from "../../../harness/push/pipes.ts";
import { telemetryPipe } from "../../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../../harness/serve.ts";

/** A body may have as many after decompression. */
const limit = 1_048_576;
let otlpPort: number;
let served: Served;
let service: BenchService;
let to: PushAddress;
let telemetry: PushAddress;
let rowsKept: () => Promise<string>;

beforeAll(async () => {
  otlpPort = await freePort();
  served = await serve({
    env: { MILLRACE_PUSH_BODY_LIMIT_BYTES: String(limit), MILLRACE_OTLP_PORT: String(otlpPort) },
  });
  service = await runningService(served, { idleScaling: false });
  to = await pushPipe(served, service, "attacked");
  telemetry = await telemetryPipe(served, service, "otel");
  rowsKept = async () => {
    expect((await send(to, rows(0, 1), { query: "?wait=true" })).status).toBe(200);
    return await query(service, "SELECT count() FROM attacked WHERE id != 0");
  };
});
afterAll(async () => await served?.[Symbol.asyncDispose]());

/** Many times as large as it is sent. */
const zeros = Buffer.alloc(200 * limit, "1");
const bombs = {
  gzip: () => gzipSync(zeros),
  deflate: () => deflateSync(zeros),
  br: () => brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: () => zstdCompressSync(zeros),
};

test.each(Object.entries(bombs))(
  "a body that %s makes large is refused, and so is telemetry",
  async (encoding, bomb) => {
    const body = bomb();
    const headers = { "content-encoding": encoding, "content-type": "application/x-protobuf" };
    expect(body.length).toBeLessThan(limit);
    const refused = await send(to, body, { headers: { "content-encoding": encoding } });
    expect([refused.status, refused.body.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    const url = `${telemetry.url}/v1/logs`;
    const answer = await fetch(url, {
      method: "POST",
      body: new Uint8Array(body),
      headers: { ...headers, authorization: telemetry.key },
    });
    expect(answer.status).toBe(413);
    const sentence = `The body has more than ${limit} bytes after decompression.`;
    expect(Buffer.from(await answer.arrayBuffer()).toString()).toContain(sentence);
    const call = await exportGrpc(otlpPort, telemetry.key, "logs", body, { encoding });
    expect(call).toEqual({ status: 8, sentence });
    expect(await rowsKept()).toBe("0");
  },
);

test("telemetry whose rows would be many times as large as its body is refused", async () => {
  const attributes = [{ key: "k", value: { stringValue: "x".repeat(limit / 5) } }];
  const logRecords = Array.from({ length: 60 }, () => ({}));
  const body = JSON.stringify({ resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] });
  const headers = { "content-type": "application/json", authorization: telemetry.key };
  const answer = await fetch(`${telemetry.url}/v1/logs`, { method: "POST", body, headers });
  expect(answer.status).toBe(413);
  expect(await answer.json()).toEqual({
    code: 8,
    message: expect.stringMatching(/more than 4194304 bytes: send fewer/),
  });
});

test.each([
  ["cut off", "gzip", gzipSync(rows(1, 100)).subarray(0, 60), 400],
  ["followed by other bytes", "gzip", Buffer.concat([gzipSync(rows(1, 3)), Buffer.from("more")]), 400],
  ["compressed twice", "gzip, gzip", gzipSync(gzipSync(rows(1, 3))), 415],
  ["of another compression", "zstd", gzipSync(rows(1, 3)), 400],
  ["of a member of every object", "constructor", Buffer.from(rows(1, 3)), 415],
])("a compressed body that is %s is refused whole", async (_, encoding, body, status) => {
  expect((await send(to, new Uint8Array(body), { headers: { "content-encoding": encoding } })).status).toBe(status);
  expect(await rowsKept()).toBe("0");
});

/** The bytes that the server sends for a request with these lines and this body, which may be more than one piece. */
async function raw(lines: readonly string[], pieces: readonly (string | Buffer)[], ends = false): Promise<string> {
  const { hostname, port, pathname } = new URL(to.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const head = [`POST ${pathname} HTTP/1.1`, `Host: ${hostname}`, `Authorization: ${to.key}`, ...lines];
  socket.on("error", () => {});
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (const piece of pieces) socket.write(piece);
  if (ends) socket.end();
  let answer = "";
  for await (const piece of socket) {
    answer += String(piece);
    if (answer.includes("\r\n\r\n") && !ends) break;
  }
  socket.destroy();
  return answer;
}
const chunk = (content: Buffer) =>
  Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from("\r\n")]);
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const chunked = "Transfer-Encoding: chunked";

test("a body without an end is answered as soon as it is too large, however it is compressed", async () => {
  const row = Buffer.from(`${rows(1, 2)}\n`.repeat(10_000));
  const many = Array.from({ length: 8 }, () => chunk(row));
  expect(statusOf(await raw([chunked], many))).toBe(413);
  expect(statusOf(await raw([chunked, "Content-Encoding: zstd"], [chunk(bombs.zstd())]))).toBe(413);
  expect(await rowsKept()).toBe("0");
});

test("a body of another length than is said keeps nothing", async () => {
  const body = rows(1, 10);
  const short = await raw([`Content-Length: ${body.length + 10}`], [body], true);
  expect(["", 400]).toContain(short === "" ? "" : statusOf(short));
  const cut = await raw([chunked], [chunk(Buffer.from(body))], true);
  expect(["", 400]).toContain(cut === "" ? "" : statusOf(cut));
  expect(statusOf(await raw([`Content-Length: ${body.length}`, chunked], [body], true))).toBe(400);
  expect(statusOf(await raw(["Content-Length: -1"], [body], true))).toBe(400);
  expect(statusOf(await raw(["Content-Length: 1", "Content-Length: 2"], [body], true))).toBe(400);
  expect(await rowsKept()).toBe("0");
});

test("headers that are too large, and keys that are, are refused", async () => {
  expect(statusOf(await raw([`X-Large: ${"x".repeat(100_000)}`], [], true))).toBe(431);
  for (const key of ["k".repeat(256), '""']) {
    const refused = await send(to, rows(1, 2), { headers: { "idempotency-key": key } });
    expect([refused.status, refused.body.code]).toEqual([400, "BAD_REQUEST"]);
  }
  expect(await rowsKept()).toBe("0");
});

test("a call of gRPC with another length than its frame says keeps nothing", async () => {
  const refused = await exportGrpc(otlpPort, telemetry.key, "logs", Buffer.alloc(8), { length: 9 });
  expect([refused.status, refused.sentence]).toEqual([3, "The call must have one message, and be complete."]);
});

test("a key is told that its pipe is deleted, and learns nothing of other pipes", async () => {
  const { pipeId, key, url } = await pushPipe(served, service, "deleted");
  const at = (id: string) => ({ key, url: url.replace(pipeId, id) });
  expect((await send(at(pipeId.toUpperCase()), rows(0, 1))).body.result).toEqual({ offset: 0, rows: 1 });
  await served.api.deletePipe({ params: { ...service.params, pipeId } });
  const asked = [pipeId, to.pipeId, randomUUID()].map(async (id) => (await send(at(id), rows(0, 1))).body.error);
  const another = "FORBIDDEN: The key may push to another pipe only.";
  expect(await Promise.all(asked)).toEqual([`NOT_FOUND: Push pipe ${pipeId} does not exist.`, another, another]);
});
