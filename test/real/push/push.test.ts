/** Rows that applications send, with real senders and a real engine. */
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../harness/network/free-port.ts";
import { columns, rows, untilState } from "../../../harness/pipes.ts";
import { addressOf, pushPipe, send } from "../../../harness/push/pipes.ts";
import {
  type BenchService,
  query,
  runningService,
  type Served,
  serve,
  until,
  untilText,
} from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
const folder = mkdtempSync(join(tmpdir(), "push-test-"));

beforeAll(async () => {
  served = await serve();
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const sql = (statement: string) => query(service, statement);
const wait = { query: "?wait=true" };

describe("bodies", () => {
  test("every form and compression becomes rows, which are visible when wait=true is answered", async () => {
    const to = await pushPipe(served, service, "forms");
    const list = JSON.stringify(
      rows(20, 30)
        .split("\n")
        .map((line) => JSON.parse(line)),
      null,
      2,
    );
    const json = { "content-type": "application/json" };
    const sent = await Promise.all([
      send(to, rows(0, 10), wait),
      send(to, '{\n "id": 10,\n "name": "name 10"\n}', { ...wait, headers: json }),
      send(to, list, { ...wait, headers: json }),
      send(to, gzipSync(rows(30, 40)), { ...wait, headers: { "content-encoding": "gzip" } }),
      send(to, brotliCompressSync(rows(40, 50)), { ...wait, headers: { "content-encoding": "br" } }),
      send(to, zstdCompressSync(rows(50, 60)), { ...wait, headers: { "content-encoding": "zstd" } }),
      send(to, new Blob([rows(60, 20_000)]).stream(), wait),
    ]);
    expect(sent.map(({ status, body }) => [status, body.result?.rows])).toEqual([
      ...[
        [200, 10],
        [200, 1],
        [200, 10],
        [200, 10],
        [200, 10],
        [200, 10],
      ],
      [200, 19_940],
    ]);
    expect(await sql("SELECT count(), uniqExact(id), sum(id) FROM forms FORMAT TSV")).toBe(
      `19991\t19991\t${(19_999 * 20_000) / 2 - (11 + 19) * 4.5}`,
    );
  });

  test("a body that cannot be read is refused whole, and says why", async () => {
    const to = await pushPipe(served, service, "unreadable");
    const json = { "content-type": "application/json" };
    const bomb = gzipSync(Buffer.alloc(80 * 2 ** 20, 0x20));
    const answers = [
      await send(to, '[{"id":1}', { headers: json }),
      await send(to, "not gzip", { headers: { "content-encoding": "gzip" } }),
      await send(to, "x", { headers: { "content-encoding": "lzma" } }),
      await send(to, "id,name", { headers: { "content-type": "text/csv" } }),
      await send(to, bomb, { headers: { "content-encoding": "gzip" } }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [400, "INVALID_JSON"],
      [400, "BAD_REQUEST"],
      [415, "UNSUPPORTED_MEDIA_TYPE"],
      [415, "UNSUPPORTED_MEDIA_TYPE"],
      [413, "PAYLOAD_TOO_LARGE"],
    ]);
    expect((await send(to, "")).body.result).toEqual({ offset: 0, rows: 0 });
  });

  test("a wish to wait in words that are not known is refused, before anything is kept", async () => {
    const to = await pushPipe(served, service, "waiting");
    const { status, body } = await send(to, rows(0, 1), { query: "?wait=1" });
    expect({ status, error: body.error }).toEqual({
      status: 400,
      error: "BAD_REQUEST: Invalid request query: wait: must be true or false",
    });
    expect((await send(to, rows(0, 1), { query: "?wait=false" })).body.result).toEqual({ offset: 0, rows: 1 });
  });

  test("CSV whose first line names no field of the pipe is refused, and not loaded as zeros", async () => {
    const to = await pushPipe(served, service, "heads", { source: { format: "CSVWithNames" } });
    const csv = { headers: { "content-type": "text/csv" } };
    const { status, body } = await send(to, "id;name\n1;x\n", csv);
    expect({ status, error: body.error }).toEqual({
      status: 400,
      error: 'BAD_REQUEST: The first line, "id;name", names none of the fields that the pipe reads: id, name.',
    });
    expect((await send(to, "1,x\n", csv)).status).toBe(400);
    expect((await send(to, '"id"\n1\n', csv)).body.result).toEqual({ offset: 0, rows: 1 });
  });

  test("CSV is read by its names, also with quoted line breaks and in several bodies", async () => {
    const to = await pushPipe(served, service, "csv", { source: { format: "CSVWithNames" } });
    const csv = { ...wait, headers: { "content-type": "text/csv" } };
    await Promise.all([
      send(to, 'id,name\n1,"two\nlines"\n2,plain\n', csv),
      send(to, "name,other,id\nthree,x,3\r\n", csv),
    ]);
    expect(await sql("SELECT groupArray((id, name)) FROM (SELECT * FROM csv ORDER BY id)")).toBe(
      String.raw`[(1,'two\nlines'),(2,'plain'),(3,'three')]`,
    );
  });

  test("bad rows are refused one by one, and replayed after the definition is mended", async () => {
    const fields = (amount: string) => ({
      destination: { columns: [...columns, { name: "amount", type: amount }] },
      fieldMappings: ["id", "name", "amount"].map((name) => ({ sourceField: name, destinationField: name })),
    });
    const { destination, ...body } = fields("UInt64");
    const to = await pushPipe(served, service, "bad", { destination, body });
    const bad = ['{"id":100,"name":"bad","amount":"ten"}', "no json at all"];
    const lines = [...rows(0, 5).split("\n"), ...bad, ...rows(5, 8).split("\n")];
    expect((await send(to, lines.join("\n"), wait)).body.result?.rows).toBe(10);
    expect(await sql("SELECT count() FROM bad")).toBe("8");
    const params = { ...service.params, pipeId: to.pipeId };
    const { progress } = await served.api.getPipe({ params });
    expect(progress).toMatchObject({ fetchedRows: 10, sentRows: 8, refusedRows: 2 });
    await sql("ALTER TABLE bad MODIFY COLUMN amount String");
    await served.api.updatePipe({ params, body: fields("String") });
    const { id } = await served.api.replayPipeErrors({ params, body: { from: "2020-01-01T00:00:00Z" } });
    const request = await until("the replay has ended", async () => {
      const found = (await served.api.listPipeErrorRequests({ params })).find((one) => one.id === id);
      return found?.state === "done" ? found : undefined;
    });
    expect(request).toMatchObject({ replayedRows: 1, refusedRows: 1 });
    expect(await sql("SELECT count() FROM bad WHERE amount = 'ten'")).toBe("1");
  });
});

describe("bodies that are read whole", () => {
  test("Parquet is loaded with its rows, and refused as one when it cannot be read", async () => {
    const to = await pushPipe(served, service, "parquet", { source: { format: "Parquet" } });
    const response = await fetch(`http://${service.host}:${service.port}/`, {
      method: "POST",
      body: "SELECT number AS id, 'name' AS name FROM numbers(100000) FORMAT Parquet",
      headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": service.password },
    });
    const file = new Uint8Array(await response.arrayBuffer());
    expect((await send(to, file, wait)).status).toBe(200);
    expect((await send(to, "PAR1 and nothing else", wait)).status).toBe(200);
    expect(await sql("SELECT count(), uniqExact(id) FROM parquet FORMAT TSV")).toBe("100000\t100000");
    const { progress } = await served.api.getPipe({ params: { ...service.params, pipeId: to.pipeId } });
    expect(progress).toMatchObject({ sentRows: 100_000, refusedRows: 1 });
  });
});

describe("exactly once", () => {
  test("the same key answers the same and adds no row, also after a kill of the server", async () => {
    const to = await pushPipe(served, service, "keys");
    const headers = { "idempotency-key": '"order-1"' };
    const first = await send(to, rows(0, 3), { headers });
    const again = await send(to, rows(0, 3), { headers });
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body.result).toEqual({ ...first.body.result, repeated: true });
    expect((await send(to, rows(0, 4), { headers })).body.code).toBe("IDEMPOTENCY_KEY_REUSED");
    await untilText("three rows", "3", () => sql("SELECT count() FROM keys"));
    served = await served.restartAfterKill();
    const moved = { ...to, url: `${served.credentials.baseUrl}/v1/push/${to.pipeId}` };
    const later = await send(moved, rows(0, 3), { headers });
    expect(later.body.result).toEqual({ ...first.body.result, repeated: true });
    expect((await send(moved, rows(3, 4), wait)).status).toBe(200);
    expect(await sql("SELECT count(), uniqExact(id) FROM keys FORMAT TSV")).toBe("4\t4");
  });

  test("curl --retry over a proxy that loses answers leaves each row once", async () => {
    const to = await pushPipe(served, service, "retried");
    let requests = 0;
    // Passes every request on, and keeps two of three answers to itself.
    const proxy = createServer((request, response) => {
      requests += 1;
      const isLost = requests % 3 !== 0;
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", async () => {
        const answer = await send(to, Buffer.concat(pieces), {
          headers: { "idempotency-key": String(request.headers["idempotency-key"]) },
        });
        response.writeHead(isLost ? 503 : answer.status, { "retry-after": "0" }).end(JSON.stringify(answer.body));
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as { port: number };
    const file = join(folder, "rows.ndjson");
    for (let n = 0; n < 4; n += 1) {
      writeFileSync(file, rows(n * 10, n * 10 + 10));
      const args = ["-sS", "--fail", "--retry", "5", "--retry-delay", "1", "-H", `Idempotency-Key: file-${n}`];
      await promisify(execFile)("curl", [...args, "--data-binary", `@${file}`, `http://127.0.0.1:${port}/`]);
    }
    proxy.close();
    expect(requests).toBe(12);
    await untilText("each row once", "40\t40", () => sql("SELECT count(), uniqExact(id) FROM retried FORMAT TSV"));
  });
});

describe("who may send", () => {
  test("a key of one pipe can push to it and do nothing else", async () => {
    const to = await pushPipe(served, service, "own");
    const other = await pushPipe(served, service, "other");
    expect((await send({ url: other.url, key: to.key }, rows(0, 1))).status).toBe(403);
    const basic = `Basic ${Buffer.from(to.key.replace("Bearer ", "").replace(".", ":")).toString("base64")}`;
    const { baseUrl, organizationId } = served.credentials;
    const listed = await fetch(`${baseUrl}/v1/organizations/${organizationId}/services`, {
      headers: { authorization: basic },
    });
    expect(listed.status).toBe(403);
    expect((await send({ url: to.url, key: basic }, rows(0, 1))).status).toBe(202);
    expect((await send({ url: to.url, key: "" }, rows(0, 1))).status).toBe(401);
    const long = `${baseUrl}/v1/organizations/${organizationId}/services/${service.id}/pipes/${to.pipeId}/events`;
    expect((await send({ url: long, key: basic }, rows(1, 2))).status).toBe(202);
    const elsewhere = await addressOf(served, to.pipeId, { ipAccessList: [{ source: "10.1.2.3", description: "" }] });
    expect((await send(elsewhere, rows(0, 1))).status).toBe(403);
  });

  test("a key is accepted in each of its forms until it is disabled, and in none afterwards", async () => {
    const to = await pushPipe(served, service, "key_forms");
    const [id = "", secret = ""] = to.key.replace("Bearer ", "").split(".");
    const forms: Record<string, string>[] = [
      { authorization: `Bearer ${id}.${secret}` },
      { authorization: `bearer ${id}:${secret}` },
      { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` },
      { "x-api-key": `${id}.${secret}` },
      { "x-api-key": `${id}:${secret}` },
    ];
    const statuses = async () => {
      const answers = forms.map((headers) => fetch(to.url, { method: "POST", body: rows(0, 1), headers }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect([await statuses(), await statuses()]).toEqual([forms.map(() => 202), forms.map(() => 202)]);
    const params = { organizationId: served.credentials.organizationId };
    const key = (await served.api.listKeys({ params })).find(({ pipeId }) => pipeId === to.pipeId);
    await served.api.updateKey({ params: { ...params, keyId: key?.id as string }, body: { state: "disabled" } });
    // 401, or 429 where others have failed too.
    expect(await statuses()).not.toContain(202);
  });

  test("a key above its limits is told when to come back", async () => {
    const to = await pushPipe(served, service, "limited", { key: { pushLimits: { rowsPerSecond: 10 } } });
    expect((await send(to, rows(0, 100))).status).toBe(202);
    const refused = await send(to, rows(100, 101));
    expect([refused.status, refused.body.code]).toEqual([429, "TOO_MANY_REQUESTS"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("a key that has expired cannot push, and bytes are limited as rows are", async () => {
    const short = { expireAt: new Date(Date.now() + 2_000).toISOString() };
    const to = await pushPipe(served, service, "expired", { key: short });
    await until("the key has expired", async () => (await send(to, rows(0, 1))).status === 401);
    const slow = await addressOf(served, to.pipeId, { pushLimits: { bytesPerSecond: 10 } });
    expect((await send(slow, rows(0, 100))).status).toBe(202);
    const refused = await send(slow, rows(100, 101));
    expect([refused.status, Number(refused.headers.get("retry-after")) > 100]).toEqual([429, true]);
  });

  test("a full inbox refuses rows, and takes them when it is loaded", async () => {
    const to = await pushPipe(served, service, "full", { source: { maxInboxGb: 0.001 } });
    const params = { ...service.params, pipeId: to.pipeId };
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, to.pipeId, "Stopped");
    expect((await send(to, rows(0, 50_000))).status).toBe(202);
    const full = await send(to, rows(50_000, 50_001), { headers: { "idempotency-key": "later" } });
    expect([full.status, full.body.code, full.headers.get("retry-after")]).toEqual([429, "INBOX_FULL", "10"]);
    expect(full.body.error).toContain("has 50000 rows that are not loaded");
    await served.api.updatePipeState({ params, body: { command: "start" } });
    const headers = { "idempotency-key": "later" };
    await until(
      "there is room",
      async () => (await send(to, rows(50_000, 50_001), { headers, ...wait })).status === 200,
    );
    expect(await sql("SELECT count(), uniqExact(id) FROM full FORMAT TSV")).toBe("50001\t50001");
  });

  test("a webhook is accepted by its signature, and its delivery id is its key", async () => {
    const secret = "It is a secret to everybody";
    const to = await pushPipe(served, service, "hook", { source: { signature: { scheme: "github", secret } } });
    const body = rows(0, 1);
    const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const hook = async (given: string) => {
      const headers = { "x-hub-signature-256": given, "x-github-delivery": "d-1", "content-type": "application/json" };
      const response = await fetch(to.url, { method: "POST", body, headers });
      const answer = (await response.json()) as { result?: { repeated?: boolean } };
      return [response.status, answer.result?.repeated];
    };
    expect(await hook("sha256=00")).toEqual([401, undefined]);
    expect(await hook(signature)).toEqual([202, undefined]);
    expect(await hook(signature)).toEqual([202, true]);
    await untilText("one row", "1", () => sql("SELECT count() FROM hook"));
  });

  test("pages of listed origins may send, others may not", async () => {
    const origin = "https://app.example.com";
    const to = await pushPipe(served, service, "pages", { source: { allowedOrigins: [origin] } });
    const asked = await fetch(to.url, { method: "OPTIONS", headers: { origin } });
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    const sent = await send(to, rows(0, 1), { headers: { origin } });
    expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([202, origin]);
    expect((await send(to, rows(0, 1), { headers: { origin: "https://evil.example.com" } })).status).toBe(403);
  });
});

test("rows and telemetry are accepted at the gateway by host name, from the client that its proxy names", async () => {
  const [port, domain] = [await freePort(), "gw.example"];
  const env = { MILLRACE_GATEWAY_PORT: String(port), MILLRACE_GATEWAY_DOMAIN: domain };
  await using other = await serve({ env: { ...env, MILLRACE_GATEWAY_PROXY_NETWORKS: "127.0.0.1" } });
  const own = await runningService(other, { idleScaling: false });
  const { pipeId } = await pushPipe(other, own, "named");
  const { key } = await addressOf(other, pipeId, { ipAccessList: [{ source: "10.1.2.3", description: "" }] });
  /** The status of a request of this client behind the proxy. */
  const status = async (host: string, client: string, path = `/v1/push/${pipeId}?wait=true`) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${key}\r\nContent-Length: 8\r\n`;
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write(`PROXY TCP4 ${client} 127.0.0.1 1 1\r\n${head}Connection: close\r\n\r\n{"id":1}`);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1]);
  };
  expect(await status(`${own.id}.${domain}`, "10.1.2.3")).toBe(200);
  expect(await status(domain, "10.1.2.3")).toBe(200);
  expect(await status(domain, "10.1.2.4")).toBe(403);
  expect(await status(`${pipeId}.${domain}`, "10.1.2.3")).toBe(404);
  expect(await status(domain, "10.1.2.3", "/v1/organizations")).toBe(404);
  expect(await status(domain, "10.1.2.3", `/v1/push/${pipeId}/v1/logs`)).toBe(415);
  const { progress } = await other.api.getPipe({ params: { ...own.params, pipeId } });
  expect(progress.sentRows).toBe(2);
});

describe("a sleeping service", () => {
  test("receives, is woken by the age of its rows, loads them and sleeps again", async () => {
    await using other = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "200" } });
    const idle = await runningService(other, { idleTimeoutMinutes: 5 });
    const to = await pushPipe(other, idle, "asleep", { source: { wakeAfterSeconds: 4 } });
    const state = async () => (await other.api.getService({ params: idle.params })).state;
    await until("the service sleeps", async () => (await state()) === "idle");
    for (let n = 0; n < 3; n += 1) expect((await send(to, rows(n * 5, n * 5 + 5))).status).toBe(202);
    expect(await state()).toBe("idle");
    const sentRows = async () =>
      (await other.api.getPipe({ params: { ...idle.params, pipeId: to.pipeId } })).progress.sentRows ?? 0;
    await until("rows are loaded", async () => (await sentRows()) === 15);
    await until("the service sleeps again", async () => (await state()) === "idle");
    // A sender that waits is a reason to wake at once.
    expect((await send(to, rows(15, 16), wait)).status).toBe(200);
    expect(await query(idle, "SELECT count(), uniqExact(id) FROM asleep FORMAT TSV")).toBe("16\t16");
  });
});
