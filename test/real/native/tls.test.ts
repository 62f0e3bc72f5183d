/** `nativesecure`: TLS ends in the control plane, behind a load balancer here, and connections still idle and wake. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NativeClient } from "../../../harness/native/client.ts";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { type BenchService, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let dir: string;
let served: Served;
let service: BenchService;
let port: number;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-native-tls-"));
  writeFileSync(join(dir, "pem"), loopbackCertificate.cert);
  writeFileSync(join(dir, "key"), loopbackCertificate.key, { mode: 0o600 });
  served = await serve({
    env: {
      MILLRACE_TLS_CERT: join(dir, "pem"),
      MILLRACE_TLS_KEY: join(dir, "key"),
      MILLRACE_IDLE_MINUTE_MS: "300",
      MILLRACE_GATEWAY_PROXY_NETWORKS: "127.0.0.1",
    },
  });
  // This process is the client of the API, and does not know the certificate.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  service = await runningService(served, { idleTimeoutMinutes: 5, ipAccessList: [{ source: "203.0.113.9" }] });
  const { endpoints } = await served.api.getService({ params: service.params });
  port = endpoints.find(({ protocol }) => protocol === "nativesecure")?.port ?? 0;
});
afterAll(async () => {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  await served?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const state = async () => (await served.api.getService({ params: service.params })).state;
const connect = (address: string) =>
  NativeClient.connect({
    ...{ port, password: service.password, tls: true },
    before: Buffer.from(`PROXY TCP4 ${address} 10.0.0.1 1 2\r\n`),
  });

test("queries and inserts, by the address of the PROXY header, and again after idling", async () => {
  await expect(connect("203.0.113.8")).rejects.toMatchObject({ code: 497 });
  const client = await connect("203.0.113.9");
  await client.query("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY s");
  await client.query("SET max_threads = 3");
  for (let round = 0; round < 2; round += 1) {
    expect(await client.insert("INSERT INTO t VALUES", ["a"])).toEqual({ rows: [], exception: undefined });
    await until("the service is idle", async () => (await state()) === "idle");
    const sql =
      "SELECT count(), getSetting('max_threads'), assumeNotNull((SELECT toString(any(address)) FROM system.processes)) FROM t";
    expect(await client.query(sql)).toEqual([[String(round + 1), "3", "::ffff:203.0.113.9"]]);
  }
  client.close();
});
