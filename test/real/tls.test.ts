/** Everything over TLS: management API, observability API and the endpoint of a service, with one certificate. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, serve, until } from "../../harness/serve.ts";

const missing = spawnSync("openssl", ["version"]).status === 0 ? undefined : "no openssl to make a certificate with";
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("TLS", () => {
  let dir: string;
  let ca: Buffer;
  let served: Served;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "millrace-tls-"));
    const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
    const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    execFileSync("openssl", [...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    ca = readFileSync(cert);
    served = await serve({ env: { MILLRACE_TLS_CERT: cert, MILLRACE_TLS_KEY: key } });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  const get = async (url: string, headers: Record<string, string>, options: object = {}, body = "") =>
    await new Promise<{ status: number | undefined; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const outgoing = request(url, { method: body === "" ? "GET" : "POST", headers, ca, ...options }, async (answer) =>
        resolve({ status: answer.statusCode, text: await text(answer), headers: answer.headers }),
      );
      outgoing.on("error", reject).end(body);
    });

  test("addresses say https, and answer only with the certificate", async () => {
    const { baseUrl, observabilityBaseUrl, organizationId, keyId, keySecret, accessToken } = served.credentials;
    expect([baseUrl, observabilityBaseUrl].map((url) => new URL(url).protocol)).toEqual(["https:", "https:"]);
    const basic = { authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}` };
    const services = await get(`${baseUrl}/v1/organizations/${organizationId}/services`, basic);
    expect(services.status).toBe(200);
    expect(services.headers["strict-transport-security"]).toMatch(/^max-age=\d{8}/);
    await expect(get(`${baseUrl}/health`, {}, { ca: undefined })).rejects.toThrow(/self.signed/);
    const sources = `${observabilityBaseUrl}/api/v2/sources`;
    expect((await get(sources, { authorization: `Bearer ${accessToken}` })).status).toBe(200);
  });

  test("a service's endpoint says https and takes queries", async () => {
    const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
    const headers = {
      authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`,
      "content-type": "application/json",
    };
    const services = `${baseUrl}/v1/organizations/${organizationId}/services`;
    const created = await get(services, headers, {}, JSON.stringify({ name: "safe" }));
    const { service, password } = JSON.parse(created.text).result;
    const [endpoint] = service.endpoints;
    expect(endpoint.protocol).toBe("https");
    const url = `https://127.0.0.1:${endpoint.port}/`;
    const login = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": password };
    let answer = "";
    await until("it answers", async () => {
      answer = (await get(url, login, {}, "SELECT 'over TLS'").catch(() => ({ text: "" }))).text;
      return answer.startsWith("over");
    });
    expect(answer).toBe("over TLS\n");
    await expect(get(url.replace("https", "http"), login, {}, "SELECT 1")).rejects.toThrow();
  });
});
