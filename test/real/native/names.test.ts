/** The native protocol at the gateway by host name: one port with HTTPS, where the server name (SNI) is the service. */
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NativeClient } from "../../../harness/native/client.ts";
import { freePort } from "../../../harness/network/free-port.ts";
import {
  type CertificateFiles,
  opensslMissing,
  wildcardCertificate,
} from "../../../harness/network/wildcard-certificate.ts";
import { until } from "../../../harness/serve.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

const missing = opensslMissing();
if (missing !== undefined) console.log(`skipped: ${missing}`);
const domain = "ch.example";

describe.skipIf(missing !== undefined)("by host name", () => {
  let certificate: CertificateFiles;
  let stage: NativeStage;
  let port: number;

  beforeAll(async () => {
    certificate = wildcardCertificate(domain);
    port = await freePort();
    const env = {
      MILLRACE_GATEWAY_PORT: String(port),
      MILLRACE_GATEWAY_DOMAIN: domain,
      MILLRACE_GATEWAY_TLS_CERT: certificate.cert,
      MILLRACE_GATEWAY_TLS_KEY: certificate.key,
      // Services have no ports of their own.
      MILLRACE_SERVICE_PORTS: "none",
      MILLRACE_IDLE_MINUTE_MS: "300",
    };
    stage = await nativeStage(env, { idleTimeoutMinutes: 5 });
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
    certificate?.[Symbol.dispose]();
  });

  const nameOf = (id: string) => `${id}.${domain}`;
  const connect = async (password = stage.service.password, servername = nameOf(stage.service.id)) =>
    await NativeClient.connect({ port, tls: true, ca: certificate.ca, password, servername });

  test("the record names the endpoint, and queries, inserts and idling are as at a port", async () => {
    const { endpoints } = await stage.served.api.getService({ params: stage.service.params });
    const named = { host: nameOf(stage.service.id), port, username: "default" };
    expect(endpoints).toEqual([
      { protocol: "https", ...named },
      { protocol: "nativesecure", ...named },
    ]);
    const client = await connect();
    await client.query("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY s");
    await client.query("SET max_threads = 3");
    for (let round = 1; round <= 2; round += 1) {
      expect(await client.insert("INSERT INTO t VALUES", ["a"])).toEqual({ rows: [], exception: undefined });
      await until("the service is idle", async () => (await stage.state()) === "idle");
      const sql = "SELECT count(), getSetting('max_threads') FROM t";
      expect(await client.query(sql)).toEqual([[String(round), "3"]]);
    }
    client.close();
  });

  test("HTTPS on the same port is answered as before", async () => {
    const headers = { Host: nameOf(stage.service.id), "X-ClickHouse-Key": stage.service.password };
    const options = { host: "127.0.0.1", port, headers, servername: nameOf(stage.service.id), ca: certificate.ca };
    const status = await new Promise((resolve, reject) => {
      const sent = request({ ...options, path: "/?query=SELECT%201" }, (answer) => resolve(answer.statusCode));
      sent.on("error", reject).end();
    });
    expect(status).toBe(200);
  });

  test("a wrong password, a new password and a name of no service are told", async () => {
    await expect(connect("wrong")).rejects.toMatchObject({ code: 516 });
    for (const name of [nameOf("11111111-1111-4111-8111-111111111111"), domain]) {
      await expect(connect(stage.service.password, name)).rejects.toThrow(
        /server name \(SNI\).* must be ID\.ch\.example/,
      );
    }
    const open = await connect();
    const { password } = await stage.served.api.updateServicePassword({ params: stage.service.params, body: {} });
    await expect(open.query("SELECT 1")).rejects.toMatchObject({ code: 516 });
    const again = await connect(password);
    expect(await again.query("SELECT 1")).toEqual([["1"]]);
    again.close();
  });
});
