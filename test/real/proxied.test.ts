/** Clients behind real proxies that send PROXY headers: the server sees their addresses at every door. */
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../harness/network/free-port.ts";
import { OneConnection } from "../../harness/network/one-connection.ts";
import { portsOf } from "../../harness/network/process-ports.ts";
import {
  haproxyMissing,
  nginxStreamMissing,
  type ProxyRoute,
  startHaproxy,
  startNginxStream,
} from "../../harness/network/proxies.ts";
import {
  type CertificateFiles,
  opensslMissing,
  wildcardCertificate,
} from "../../harness/network/wildcard-certificate.ts";
import { type BenchService, runningService, type Served, serve, until } from "../../harness/serve.ts";

const domain = "gw.example";
/** Proxies connect from it; clients of the first address are welcome. */
const proxyAddress = "127.0.0.77";
const [welcome, stranger] = ["127.0.0.5", "127.0.0.6"];

type Proxy = {
  readonly name: string;
  readonly version: 1 | 2;
  readonly missing: string | undefined;
  readonly start: typeof startHaproxy;
};
const proxies: readonly Proxy[] = [
  { name: "HAProxy, version 1", version: 1, missing: haproxyMissing(), start: startHaproxy },
  { name: "HAProxy, version 2", version: 2, missing: haproxyMissing(), start: startHaproxy },
  { name: "nginx", version: 1, missing: nginxStreamMissing(), start: startNginxStream },
];
const opensslLacks = opensslMissing();
const reasons = new Set([opensslLacks, ...proxies.map(({ missing }) => missing)].filter((one) => one !== undefined));
for (const reason of reasons) console.log(`skipped: ${reason}`);

describe.skipIf(opensslLacks !== undefined)("behind proxies", () => {
  const things = new AsyncDisposableStack();
  let certificate: CertificateFiles;
  let served: Served;
  let service: BenchService;
  let gatewayPort: number;

  beforeAll(async () => {
    certificate = things.use(wildcardCertificate(domain));
    [gatewayPort = 0] = await freePorts(1);
    served = things.use(
      await serve({
        env: {
          MILLRACE_GATEWAY_PORT: String(gatewayPort),
          MILLRACE_GATEWAY_DOMAIN: domain,
          MILLRACE_GATEWAY_TLS_CERT: certificate.cert,
          MILLRACE_GATEWAY_TLS_KEY: certificate.key,
          MILLRACE_GATEWAY_PROXY_NETWORKS: `${proxyAddress}/32`,
          MILLRACE_IDLE_MINUTE_MS: "300",
        },
      }),
    );
    const created = await runningService(served, {
      ipAccessList: [{ source: welcome, description: "" }],
      idleTimeoutMinutes: 5,
    });
    const record = await served.api.getService({ params: created.params });
    service = { ...created, port: record.port as number };
  });
  afterAll(() => things.disposeAsync());

  const login = () => ({ "X-ClickHouse-User": "default", "X-ClickHouse-Key": service.password });
  /** The address of the client in the engine's list of running queries. */
  const ownAddress = (id: string) => ({
    sql: "SELECT forwarded_for FROM system.processes WHERE query_id = queryID()",
    headers: { "X-ClickHouse-Query-Id": id },
  });

  /** Through TLS to the gateway by host name. */
  async function askGateway(port: number, localAddress: string): Promise<{ status: number; said: string }> {
    const name = `${service.id}.${domain}`;
    const { sql } = ownAddress("gateway");
    const headers = { ...login(), Host: name };
    const options = { host: "127.0.0.1", port, servername: name, ca: certificate.ca, localAddress, method: "POST" };
    return await new Promise((resolve, reject) => {
      const sent = request({ ...options, headers, agent: new Agent() }, async (answer) =>
        resolve({ status: answer.statusCode ?? 0, said: (await text(answer)).trimEnd() }),
      );
      sent.once("error", reject).end(sql);
    });
  }

  async function enginePid(): Promise<number | undefined> {
    return (await served.api.getSystem({ params: {} })).engines[0]?.pid;
  }

  describe.each(proxies)("$name", ({ version, missing, start }) => {
    let plain: ProxyRoute;
    let names: ProxyRoute;
    beforeAll(async () => {
      if (missing !== undefined) return;
      const [one = 0, two = 0] = await freePorts(2);
      plain = { port: one, target: service.port, version };
      names = { port: two, target: gatewayPort, version };
      things.use(await start([plain, names], proxyAddress));
    });
    const behind = test.skipIf(missing !== undefined);

    behind("the gateway by host name sees the client, over TLS", async () => {
      expect(await askGateway(names.port, welcome)).toEqual({ status: 200, said: welcome });
      const refused = await askGateway(names.port, stranger);
      expect(refused.status).toBe(403);
      expect(refused.said).toContain(`Access from ${stranger} is not allowed`);
    });

    behind("so does the service's port, in both processes that serve its connections", async () => {
      const client = new OneConnection(plain.port, login(), welcome);
      const { sql } = ownAddress("port");
      await until("the connection is handed over", async () => {
        expect(await client.send(sql)).toMatchObject({ status: 200, text: welcome });
        const pid = await enginePid();
        return pid !== undefined && portsOf([pid]).has(service.port);
      });
      // The engine ends, and the connection returns to the control plane.
      await until("idle", async () => (await served.api.getService({ params: service.params })).state === "idle");
      const { localPort } = await client.ping();
      const woken = await client.send(sql);
      expect(woken).toMatchObject({ status: 200, text: welcome, localPort, closes: true });
      client.close();
      const other = new OneConnection(plain.port, login(), stranger);
      expect((await other.send(sql)).text).toContain(`Access from ${stranger} is not allowed`);
      other.close();
    });
  });

  test("clients that reach the server without a proxy are judged by their own addresses", async () => {
    const direct = new OneConnection(service.port, login(), stranger);
    expect((await direct.send("SELECT 1")).text).toContain(`Access from ${stranger} is not allowed`);
    direct.close();
    await expect(askGateway(gatewayPort, stranger)).resolves.toMatchObject({ status: 403 });
    expect((await askGateway(gatewayPort, welcome)).said).toBe(welcome);
  });

  test.skipIf(haproxyMissing() !== undefined)("the audit trail has the addresses of clients", async () => {
    const { organizationId } = served.credentials;
    await until("logins and refusals are there", async () => {
      const events = await served.api.listAuditEvents({ params: { organizationId }, query: { limit: 100 } });
      const own = events.filter(({ serviceId }) => serviceId === service.id);
      const addresses = (type: string) => own.filter((event) => event.type === type).map((one) => one.actorIpAddress);
      expect(own.map((event) => event.actorIpAddress)).not.toContain(proxyAddress);
      return addresses("login").includes(welcome) && addresses("address_refused").includes(stranger);
    });
  });
});
