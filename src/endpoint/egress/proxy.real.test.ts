/**
 * Which of the engine's clients use the proxy of its configuration. Only the confinement of the engine's process stops
 * the others; `docs/outgoing.md` lists both.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { OutgoingPolicy } from "../../outgoing/policy.ts";
import { EgressProxy } from "./proxy.ts";

/** The proxy allows 127.0.0.1; 127.0.0.2 represents the inner network. */
const policy = new OutgoingPolicy({ reach: ["127.0.0.1"], setting: "--sql-networks", ownPorts: [] });
const folder = mkdtempSync(join(tmpdir(), "millrace-engine-proxy-"));
const asked: string[] = [];
const reached: string[] = [];
const servers: Server[] = [];
let proxy: EgressProxy;
let engine: Engine;
let open = "";
let openTls = "";
let tunnels = 0;
let tlsConnections = 0;
let inner = "";

class Engine {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: { text?: string; error?: string }) => void>();
  #last = 0;

  constructor(configFile: string, proxyUrl: string) {
    // The Rust clients of data lakes read the proxy only from the environment.
    const env = { ...process.env, http_proxy: proxyUrl, https_proxy: proxyUrl };
    const script = fileURLToPath(new URL("../../../harness/engine/proxied-engine.ts", import.meta.url));
    this.#child = fork(script, [join(folder, "data"), configFile], { env });
    this.#child.on("message", ({ id, ...answer }: { id: number; text?: string; error?: string }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  /** The result, or the error's text. */
  async ask(sql: string): Promise<string> {
    this.#last += 1;
    const id = this.#last;
    const answer = await new Promise<{ text?: string; error?: string }>((done) => {
      this.#waiting.set(id, done);
      this.#child.send({ id, sql });
    });
    return answer.text ?? `error: ${answer.error}`;
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}

async function listen(server: Server, host: string): Promise<string> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, host, done));
  return `${host}:${(server.address() as AddressInfo).port}`;
}

/** Answers every path like a small object store. */
function store(name: string, tls: boolean): Server {
  const answer: Parameters<typeof createServer>[1] = (request, response) => {
    reached.push(`${name} ${request.method} ${request.url}`);
    request.resume();
    if (request.url?.includes("goto")) return response.writeHead(307, { Location: `http://${inner}/bkt/obj` }).end();
    const headers = { ETag: '"e"', "Last-Modified": new Date(0).toUTCString(), "Content-Length": 6 };
    response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : "hello\n");
  };
  return tls ? createTlsServer(loopbackCertificate, answer) : createServer(answer);
}

beforeAll(async () => {
  inner = await listen(store("inner", false), "127.0.0.2");
  open = await listen(store("open", false), "127.0.0.1");
  const tls = store("open", true);
  tls.on("connection", () => {
    tlsConnections += 1;
  });
  openTls = await listen(tls, "127.0.0.1");
  proxy = new EgressProxy({
    policyFor: (_, { host, port }) => {
      asked.push(`${host}:${port}`);
      if (`${host}:${port}` === openTls) tunnels += 1;
      return policy;
    },
  });
  const { url } = await proxy.open("s");
  writeFileSync(join(folder, "ca.pem"), loopbackCertificate.cert);
  writeFileSync(
    join(folder, "engine.xml"),
    `<clickhouse>
      <proxy><http><uri>${url}</uri></http><https><uri>${url}</uri></https></proxy>
      <s3><use_environment_credentials>false</use_environment_credentials></s3>
      <openSSL><client><caConfig>${join(folder, "ca.pem")}</caConfig></client></openSSL>
    </clickhouse>`,
  );
  engine = new Engine(join(folder, "engine.xml"), url);
  // Refused tunnels are retried like broken connections.
  await engine.ask("SET s3_retry_attempts = 1, http_max_tries = 1");
});
afterAll(async () => {
  engine.close();
  await proxy.closeAll();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked.length = 0;
  reached.length = 0;
});

const line = "'LineAsString', 'line String'";
const azure = (origin: string) =>
  `azureBlobStorage('DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=${origin}/a;', 'c', 'b', 'LineAsString', 'auto', 'line String')`;

describe("by the proxy, so by the policy", () => {
  test.each([
    ["s3", (origin: string) => `s3('${origin}/bkt/obj', NOSIGN, ${line})`],
    ["gcs", (origin: string) => `gcs('${origin}/bkt/obj', NOSIGN, ${line})`],
    ["url", (origin: string) => `url('${origin}/obj', ${line})`],
    ["hudi", (origin: string) => `hudi('${origin}/bkt/t', NOSIGN)`],
    ["icebergS3", (origin: string) => `icebergS3('${origin}/bkt/t', NOSIGN)`],
    ["deltaLake", (origin: string) => `deltaLake('${origin}/bkt/t', NOSIGN)`],
  ])("%s over http, and over https through a tunnel", async (name, call) => {
    for (const origin of [`http://${open}`, `https://${openTls}`]) {
      const answer = await engine.ask(`SELECT * FROM ${call(origin)}`);
      if (["s3", "gcs", "url"].includes(name)) expect(answer, origin).toBe("hello\n");
      expect(
        reached.some((request) => request.startsWith("open ")),
        `${origin}: ${answer}`,
      ).toBe(true);
      if (origin.startsWith("http:")) expect(asked, origin).toContain(open);
      reached.length = 0;
    }
    for (const origin of [`http://${inner}`, `https://${inner}`]) await engine.ask(`SELECT * FROM ${call(origin)}`);
    expect(asked).toContain(inner);
    expect(reached).toEqual([]);
    // The engine keeps tunnels for further requests.
    expect(tlsConnections).toBe(tunnels);
    expect(tunnels).toBeGreaterThan(0);
  });

  test("a table with the engine S3, and a dictionary over HTTP", async () => {
    await engine.ask(`CREATE TABLE st (line String) ENGINE = S3('http://${open}/bkt/obj', NOSIGN, 'LineAsString')`);
    expect(await engine.ask("SELECT * FROM st")).toBe("hello\n");
    const source = `HTTP(url 'http://${inner}/d' format 'LineAsString')`;
    const layout = "LAYOUT(FLAT()) LIFETIME(0)";
    await engine.ask(`CREATE DICTIONARY d (k UInt64, v String) PRIMARY KEY k SOURCE(${source}) ${layout}`);
    expect(await engine.ask("SELECT dictGet('d', 'v', 1)")).toMatch(/^error/);
    expect(new Set(asked)).toEqual(new Set([open, inner]));
    expect(reached.filter((request) => request.startsWith("inner"))).toEqual([]);
  });

  test("a refusal tells its rule, where the store's answer is shown at all", async () => {
    const rule = /127\.0\.0\.2 is an address of the machine.*--sql-networks/;
    expect(await engine.ask(`SELECT * FROM s3('http://${inner}/bkt/*', NOSIGN, ${line})`)).toMatch(rule);
    expect(await engine.ask(`SELECT * FROM s3('https://${inner}/bkt/obj', NOSIGN, ${line})`)).toMatch(rule);
  });

  test("each hop of a redirect is asked for", async () => {
    const answer = await engine.ask(`SELECT * FROM s3('http://${open}/bkt/goto', NOSIGN, ${line})`);
    expect(answer).toMatch(/^error/);
    expect(asked).toContain(inner);
    expect(reached.filter((request) => request.startsWith("inner"))).toEqual([]);
  });

  test("s3_max_redirects = 0 refuses the redirect itself", async () => {
    const answer = await engine.ask(
      `SELECT * FROM s3('http://${open}/bkt/goto', NOSIGN, ${line}) SETTINGS s3_max_redirects = 0`,
    );
    expect(answer).toMatch(/TOO_MANY_REDIRECTS/);
    expect(asked).not.toContain(inner);
  });
});

describe("past the proxy, so stopped by confinement alone", () => {
  test("azureBlobStorage", async () => {
    await engine.ask(`SELECT * FROM ${azure(`http://${inner}`)}`);
    expect(asked).toEqual([]);
    expect(reached.some((request) => request.startsWith("inner "))).toBe(true);
  });
});
