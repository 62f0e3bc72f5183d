/** Everything over TLS: management API, observability API and the endpoint of a service, with one certificate. */
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../harness/network/free-port.ts";
import { type Served, serve, until } from "../../harness/serve.ts";

const missing = spawnSync("openssl", ["version"]).status === 0 ? undefined : "no openssl to make a certificate with";
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("TLS", () => {
  let dir: string;
  let ca: Buffer;
  let served: Served;
  let gatewayPort: number;
  let servicePort: number;
  const file = (name: string) => join(dir, name);

  function makeCertificate(name: string, days: number): void {
    const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:gw.example"];
    const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const files = ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    execFileSync("openssl", [...kind, "-days", String(days), ...subject, ...files], { stdio: "ignore" });
  }

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "millrace-tls-"));
    makeCertificate("first", 90);
    makeCertificate("second", 10);
    for (const ending of ["pem", "key"]) copyFileSync(file(`first.${ending}`), file(`used.${ending}`));
    ca = Buffer.concat([readFileSync(file("first.pem")), readFileSync(file("second.pem"))]);
    gatewayPort = await freePort();
    served = await serve({
      env: {
        MILLRACE_TLS_CERT: file("used.pem"),
        MILLRACE_TLS_KEY: file("used.key"),
        MILLRACE_GATEWAY_PORT: String(gatewayPort),
        MILLRACE_GATEWAY_DOMAIN: "gw.example",
      },
    });
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
    const [named] = service.endpoints;
    expect(named).toMatchObject({ protocol: "https", host: `${service.id}.gw.example`, port: gatewayPort });
    const url = `https://127.0.0.1:${service.port}/`;
    servicePort = service.port;
    const login = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": password };
    let answer = "";
    await until("it answers", async () => {
      answer = (await get(url, login, {}, "SELECT 'over TLS'").catch(() => ({ text: "" }))).text;
      return answer.startsWith("over");
    });
    expect(answer).toBe("over TLS\n");
    await expect(get(url.replace("https", "http"), login, {}, "SELECT 1")).rejects.toThrow();
  });

  test("new files are used for new connections, open ones go on, and files that do not fit change nothing", async () => {
    const { baseUrl, keyId, keySecret } = served.credentials;
    const basic = { authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}` };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const open: TLSSocket[] = [];
    // All on the same connections, which are also closed after a while without a request.
    const system = async () => {
      for (const socket of open) expect(await ping(socket)).toMatch(/^HTTP\/1.1 200 .*Ok\.\n$/s);
      return JSON.parse((await get(`${baseUrl}/v1/system`, basic, { agent })).text).result;
    };
    const port = Number(new URL(baseUrl).port);
    const ports = [port, servicePort, gatewayPort];
    const certificates = () => Promise.all(ports.map(async (to) => nameOf(await dial(to))));
    open.push(await dial(servicePort), await dial(gatewayPort));
    expect(await certificates()).toEqual(["first", "first", "first"]);
    const before = await system();
    expect(before.certificate).toMatchObject({ subject: "CN=first", daysLeft: 89 });

    copyFileSync(file("second.key"), file("used.key"));
    await until("the mismatch is told", async () => /does not belong/.test((await system()).certificate.problem));
    expect(await certificates()).toEqual(["first", "first", "first"]);

    copyFileSync(file("second.pem"), file("used.pem"));
    await until("the new pair is used", async () => (await system()).certificate.subject === "CN=second");
    expect(await certificates()).toEqual(["second", "second", "second"]);
    expect((await system()).certificate).not.toHaveProperty("problem");
    const [own, ...more] = Object.values(agent.freeSockets).flat() as TLSSocket[];
    expect([...open, own as TLSSocket].map(nameOf)).toEqual(["first", "first", "first"]);
    expect(more).toEqual([]);

    writeFileSync(file("used.pem"), "nothing");
    await until("the broken file is told", async () => /not a certificate/.test((await system()).certificate.problem));
    expect(await certificates()).toEqual(["second", "second", "second"]);
    const metrics = (await get(`${baseUrl}/metrics`, {})).text;
    const expiry = Date.parse((await system()).certificate.validTo) / 1_000;
    expect(metrics).toContain(`Certificate_Expiry_Timestamp{certificate="api"} ${expiry}`);
    expect(metrics).toContain('Certificate_RenewalRefused{certificate="api"} 1');
    agent.destroy();
  });

  const dialled: TLSSocket[] = [];
  afterAll(() => {
    for (const socket of dialled) socket.destroy();
  });

  async function dial(port: number): Promise<TLSSocket> {
    const socket = connect({ port, host: "127.0.0.1", ca });
    dialled.push(socket);
    await once(socket, "secureConnect");
    return socket;
  }

  const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;

  async function ping(socket: TLSSocket): Promise<string> {
    socket.write("GET /ping HTTP/1.1\r\nHost: gw.example\r\n\r\n");
    const [said] = await once(socket, "data");
    return String(said);
  }
});
