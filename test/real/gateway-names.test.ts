/** Two servers on one Postgres, each with a gateway: either of them has every service by its host name. */
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serverUser, TestServer } from "../../harness/clickhouse/server.ts";
import { NativeClient } from "../../harness/native/client.ts";
import { freePorts } from "../../harness/network/free-port.ts";
import {
  type CertificateFiles,
  opensslMissing,
  wildcardCertificate,
} from "../../harness/network/wildcard-certificate.ts";
import { sharedEnvironment } from "../../harness/planes/shared-database.ts";
import { postgresMissing, TestPostgres } from "../../harness/postgres/postgres.ts";
import { type BenchService, runningService, type Served, serve, until } from "../../harness/serve.ts";
import { databaseUrl } from "../../harness/stores.ts";

const missing = postgresMissing(18) ?? opensslMissing();
const domain = "gw.example";
const proxyAddress = "127.0.0.77";

type Asked = {
  readonly host?: string;
  readonly servername?: string;
  readonly path?: string;
  readonly from?: string;
  /** The client in a PROXY header. */
  readonly behind?: string;
  readonly password?: string;
};
type Gateway = { readonly port: number; readonly agent: Agent };

describe.skipIf(missing !== undefined)(`services by host name${missing ? `: ${missing}` : ""}`, () => {
  const peers = new AsyncDisposableStack();
  let certificate: CertificateFiles;
  let hosts: TestServer[];
  let one: Served;
  let other: Served;
  let gateways: Gateway[];
  let external: BenchService;
  let embedded: BenchService;

  beforeAll(async () => {
    certificate = peers.use(wildcardCertificate(domain));
    const [postgres, first, second] = await Promise.all([
      TestPostgres.start({ version: 18 }),
      TestServer.start(),
      TestServer.start(),
    ]);
    hosts = [peers.use(first), peers.use(second)];
    const shared = sharedEnvironment(await databaseUrl(peers.use(postgres), "shared"));
    const ports = await freePorts(2);
    const env = (port: number | undefined) => ({
      ...shared,
      MILLRACE_GATEWAY_PORT: String(port),
      MILLRACE_GATEWAY_DOMAIN: domain,
      MILLRACE_GATEWAY_TLS_CERT: certificate.cert,
      MILLRACE_GATEWAY_TLS_KEY: certificate.key,
      MILLRACE_GATEWAY_PROXY_NETWORKS: proxyAddress,
      MILLRACE_SERVICE_PORTS: "none",
      MILLRACE_IDLE_MINUTE_MS: "100",
    });
    one = peers.use(await serve({ env: env(ports[0]) }));
    other = peers.use(await serve({ env: env(ports[1]) }));
    gateways = ports.map((port) => ({ port, agent: new Agent({ keepAlive: true, maxSockets: 1 }) }));
    const { name: username, password } = serverUser;
    const connection = { urls: hosts.map(({ url }) => url), username, password };
    external = await runningService(one, { runtime: "external", connection });
    embedded = await runningService(one, { idleScaling: true, idleTimeoutMinutes: 20 });
  });
  afterAll(async () => {
    for (const { agent } of gateways ?? []) agent.destroy();
    await peers.disposeAsync();
  });

  const nameOf = ({ id }: BenchService) => `${id}.${domain}`;

  /** Asks a gateway for a service; the certificate is verified for the service's host name. */
  async function ask({ port, agent }: Gateway, service: BenchService, sql: string, asked: Asked = {}) {
    const name = asked.host ?? nameOf(service);
    const headers = { Host: `${name}:${port}`, "X-ClickHouse-Key": asked.password ?? service.password };
    const { from: localAddress, servername = name } = asked;
    const options = { host: "127.0.0.1", port, ca: certificate.ca, servername, method: "POST", headers };
    return await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const path = asked.path ?? "/";
      const sent = request({
        ...options,
        path,
        ...(localAddress === undefined && asked.behind === undefined ? { agent } : { localAddress, agent: false }),
        ...(asked.behind === undefined ? {} : { socket: behindProxy(port, asked.behind) }),
      });
      sent.once("response", async (answer) =>
        resolve({ status: answer.statusCode, body: (await text(answer)).trimEnd() }),
      );
      sent.once("error", reject).end(sql);
    });
  }

  /** A connection of a proxy, for a client of this address. */
  function behindProxy(port: number, client: string) {
    const socket = connect({ port, host: "127.0.0.1", localAddress: proxyAddress });
    socket.write(`PROXY TCP4 ${client} 127.0.0.1 1 2\r\n`);
    return socket;
  }

  test("records show the host name and no port, and either server answers for it with the wildcard certificate", async () => {
    for (const [at, served] of [one, other].entries()) {
      for (const service of [external, embedded]) {
        const record = await served.api.getService({ params: service.params });
        const { port } = gateways[at] as Gateway;
        const protocols = service === embedded ? ["https", "nativesecure"] : ["https"];
        // The others are those of the external service's own hosts.
        const ours = record.endpoints.filter(({ username }) => username === "default");
        expect(ours).toEqual(
          protocols.map((protocol) => ({ protocol, host: nameOf(service), port, username: "default" })),
        );
        expect(record).not.toHaveProperty("port");
      }
    }
    for (const gateway of gateways) {
      expect(await ask(gateway, external, "SELECT 1 + 1")).toEqual({ status: 200, body: "2" });
      expect(await ask(gateway, embedded, "SELECT 1 + 1")).toEqual({ status: 200, body: "2" });
    }
  });

  test("over the native protocol, an engine of another server is reached, keeps the session and is woken", async () => {
    const { port } = gateways[1] as Gateway;
    const options = { port, tls: true, ca: certificate.ca, servername: nameOf(embedded) };
    await expect(NativeClient.connect({ ...options, password: "no" })).rejects.toMatchObject({ code: 516 });
    const client = await NativeClient.connect({ ...options, password: embedded.password });
    await client.query("CREATE TABLE far (s String) ORDER BY s");
    await client.query("SET max_threads = 3");
    for (let round = 1; round <= 2; round += 1) {
      expect(await client.insert("INSERT INTO far VALUES", ["a"])).toEqual({ rows: [], exception: undefined });
      await until("idle", async () => (await one.api.getService({ params: embedded.params })).state === "idle");
      const sql = "SELECT toString(count()), getSetting('max_threads') FROM far";
      expect(await client.query(sql)).toEqual([[String(round), "3"]]);
    }
    const large = await client.query("SELECT toString(number) FROM numbers(300000)");
    expect([large.length, large.at(-1)]).toEqual([300_000, ["299999"]]);
    client.close();
  });

  test("an engine of another server takes rows, refuses a wrong password, and is woken, through this one", async () => {
    const [own, far] = gateways as [Gateway, Gateway];
    const rows = Array.from({ length: 200_000 }, (_, at) => `${at}\t${"x".repeat(20)}`).join("\n");
    await ask(own, embedded, "CREATE TABLE t (a UInt64, s String) ORDER BY a");
    const inserted = await ask(far, embedded, rows, { path: "/?query=INSERT%20INTO%20t%20FORMAT%20TSV" });
    expect(inserted).toEqual({ status: 200, body: "" });
    expect((await ask(own, embedded, "SELECT count(), sum(a) FROM t")).body).toBe("200000\t19999900000");
    const wrong = await ask(far, embedded, "SELECT 1", { password: "no" });
    expect([wrong.status, wrong.body]).toEqual([403, expect.stringMatching(/^Code: 516\. /)]);
    const unknown = await ask(far, embedded, "SELECT nothing");
    expect([unknown.status, unknown.body]).toEqual([404, expect.stringMatching(/^Code: 47\. .*UNKNOWN_IDENTIFIER/)]);
    await until("idle", async () => (await one.api.getService({ params: embedded.params })).state === "idle");
    expect((await ask(far, embedded, "SELECT count() FROM t")).body).toBe("200000");
  });

  test("the access list holds for the address of the client, not for that of the server that it reached", async () => {
    const change = (ipAccessList: object) => one.api.updateService({ params: embedded.params, body: { ipAccessList } });
    const { ipAccessList: everybody } = await one.api.getService({ params: embedded.params });
    await change({ remove: everybody, add: [{ source: "127.0.0.2", description: "" }] });
    const statusFrom = async (gateway: Gateway, from: string) =>
      (await ask(gateway, embedded, "SELECT 1", { from })).status;
    for (const gateway of gateways) {
      await until("refused", async () => (await statusFrom(gateway, "127.0.0.1")) === 403);
      expect(await statusFrom(gateway, "127.0.0.2")).toBe(200);
      expect((await ask(gateway, embedded, "SELECT 1", { behind: "127.0.0.2" })).status).toBe(200);
      const refused = await ask(gateway, embedded, "SELECT 1", { behind: "203.0.113.7" });
      expect(refused.body).toContain("Access from 203.0.113.7 is not allowed");
    }
    await change({ add: everybody });
    for (const gateway of gateways)
      await until("admitted", async () => (await statusFrom(gateway, "127.0.0.1")) === 200);
  });

  test("a host name that differs from the server name of the handshake is refused", async () => {
    const [gateway] = gateways as [Gateway];
    const refused = await ask(gateway, embedded, "SELECT 1", { servername: nameOf(external) });
    expect([refused.status, refused.body]).toEqual([421, expect.stringMatching(/^Code: 36\. .*\(SNI\)/)]);
  });

  test("a session has its temporary table on the same one of two hosts, whichever server the client reaches", async () => {
    const [own, far] = gateways as [Gateway, Gateway];
    // Ports are others in each run: of so many sessions, all are on one host in one run of eight million.
    const sessions = Array.from({ length: 24 }, (_, at) => `/?session_id=s${at}`);
    const portSql = "SELECT tcpPort()";
    const ports = new Set<string>();
    for (const path of sessions) {
      const made = await ask(own, external, `CREATE TEMPORARY TABLE mine AS ${portSql} AS port`, { path });
      expect(made).toEqual({ status: 200, body: "" });
      const kept = await ask(far, external, "SELECT port FROM mine", { path });
      expect(kept.status).toBe(200);
      ports.add(kept.body);
    }
    expect(ports).toEqual(new Set(hosts.map((host) => String(host.ports.tcp))));
  });

  test("a service that another server creates is found at once", async () => {
    const fresh = await runningService(other, { name: "fresh", idleScaling: false });
    expect(await ask(gateways[0] as Gateway, fresh, "SELECT 7")).toEqual({ status: 200, body: "7" });
  });

  test("when a server is killed, the other one answers for external services, and says what its engines need", async () => {
    const far = gateways[1] as Gateway;
    one.process.kill("SIGKILL");
    expect(await ask(far, external, "SELECT 1")).toEqual({ status: 200, body: "1" });
    let last = "";
    await until("the other server says where the engine belongs", async () => {
      const refused = await ask(far, embedded, "SELECT 1");
      last = `${refused.status}: ${refused.body}`;
      return /^503: Code: 210\. .*belongs to (the|a) server/.test(last);
    });
    one = peers.use(await one.restartAfterKill());
    await until("the engine answers through both", async () => {
      const answers = await Promise.all(
        gateways.map((gateway) =>
          ask(gateway, embedded, "SELECT count() FROM t").catch((error: Error) => ({ body: `${error}` })),
        ),
      );
      last = answers.map(({ body }) => body).join(" ");
      return last === "200000 200000";
    }).catch((error: Error) => Promise.reject(new Error(`${error.message}; last seen: ${last}`)));
  });
});
