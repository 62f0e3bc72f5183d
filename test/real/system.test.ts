/** The program about itself, and what it does not tell. */
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runningService, serve, until } from "../../harness/serve.ts";
import { secretSettings, settings } from "../../src/config.ts";

const secrets = {
  MILLRACE_SECRET_KEY: Buffer.alloc(32, 3).toString("base64"),
  MILLRACE_METRICS_TOKEN: "a-token-of-24-characters",
  MILLRACE_BACKUP_ENCRYPTION_KEY: Buffer.alloc(32, 4).toString("base64"),
};

test("every setting that sounds secret is one, or was looked at", () => {
  const looked = ["tlsKey", "gatewayTlsKey", "keysPerOrganization", "chartsPerToken"];
  const sounds = Object.keys(settings).filter((name) => /key|token|secret|password|credential/i.test(name));
  expect(sounds.filter((name) => !secretSettings.has(name)).sort()).toEqual(looked.sort());
});

test("versions, disk, loops, engines and configuration with origins, without a secret", async () => {
  const env = { ...secrets, MILLRACE_CHART_TIMEOUT_SECONDS: "7", MILLRACE_BACKUP_BUCKET_ENDPOINT: "http://u:pw@h:1" };
  await using served = await serve({ env });
  const service = await runningService(served, { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 });
  const system = await served.api.getSystem({ params: {} });
  expect(system).toMatchObject({
    nodeVersion: process.versions.node,
    pid: served.process.pid,
    baseUrl: served.credentials.baseUrl,
    dataDir: served.dataDir,
    engines: [{ serviceId: service.id, memoryLimitGb: 1, version: system.engineVersion }],
    workers: [],
  });
  const loaded = await until("the engine's load is known", async () => {
    const [engine] = (await served.api.getSystem({ params: {} })).engines;
    return engine?.cpuCores === undefined ? undefined : engine;
  });
  expect(loaded.cpuCores).toBeGreaterThanOrEqual(0);
  const { servicePorts, backupLocation } = await until("the backup location is checked", async () => {
    const now = await served.api.getSystem({ params: {} });
    return now.backupLocation.checkedAt === undefined ? undefined : now;
  });
  expect(servicePorts).toEqual({ first: 21_000, last: 21_999, used: 1, problems: [] });
  expect(backupLocation).toMatchObject({ place: join(served.dataDir, "backups"), writable: true });
  expect(system).not.toHaveProperty("certificate");
  expect(system.disk.freeBytes).toBeGreaterThan(0);
  expect(system.disk.totalBytes).toBeGreaterThan(system.disk.freeBytes);
  expect(system.memoryBytes).toBeGreaterThan(50_000_000);
  expect(system.engines[0]?.memoryBytes).toBeGreaterThan(50_000_000);
  expect(system.loops.find(({ name }) => name === "services")).toMatchObject({ consecutiveFailures: 0 });
  expect(system.limits).toContainEqual({ name: "pipes", most: 500, setting: "--pipes-per-organization" });
  const of = (name: string) => system.configuration.find((setting) => setting.name === name);
  expect(system.configuration.map(({ name }) => name)).toEqual(Object.keys(settings));
  expect(of("port")).toMatchObject({ origin: "flag", flag: "--port", value: 0 });
  expect(of("chartTimeoutSeconds")).toMatchObject({ origin: "environment", value: 7 });
  expect(of("rateLimit")).toMatchObject({ origin: "default", value: 200_000, environment: "MILLRACE_RATE_LIMIT" });
  expect(of("metricsToken")).toMatchObject({ origin: "environment", value: "set", secret: true });
  expect(of("backupSecretAccessKey")).not.toHaveProperty("value");
  expect(of("backupBucketEndpoint")?.value).toBe("http://[hidden]@h:1");
  for (const secret of Object.values(secrets)) expect(JSON.stringify(system)).not.toContain(secret);
});

test("a path that leaves its folder is the client's mistake, also before a login", async () => {
  await using served = await serve({});
  const { port } = new URL(served.credentials.baseUrl);
  for (const path of ["%2e%2e/%2e%2e/index.html", "../../index.html", "..%2findex.html", "a%5c..%5cb", "%00", "%zz"]) {
    const call = connect(Number(port), "127.0.0.1");
    call.write(`GET /console/assets/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(String(Buffer.concat(await call.toArray())), path).toMatch(/^HTTP\/1.1 40[04] /);
  }
});
