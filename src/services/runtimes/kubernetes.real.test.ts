/** Starts of services whose API server of Kubernetes is away: nothing listens at its address. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestServer } from "../../../harness/clickhouse/server.ts";
import { limits } from "../../../harness/limits.ts";
import { freePort } from "../../../harness/network/free-port.ts";
import { until } from "../../../harness/serve.ts";
import { openTestStores } from "../../../harness/stores.ts";
import { createLogger } from "../../lib/logger.ts";
import type { LeasedStores } from "../../store/open.ts";
import type { Service } from "../../store/services/services.ts";
import { KubernetesApi } from "../kubernetes/api.ts";
import { managedConnection } from "../kubernetes/connection.ts";
import { ownUser } from "../kubernetes/installation.ts";
import type { Transition } from "../transitions.ts";
import { KubernetesRuntime } from "./kubernetes.ts";

const password = "password-of-millrace";
const folder = mkdtempSync(join(tmpdir(), "millrace-kubernetes-"));
let host: TestServer;
let stores: LeasedStores;
let runtime: KubernetesRuntime;
let service: Service;
let apiPort: number;

beforeAll(async () => {
  host = await TestServer.start({ users: [{ name: ownUser, password }] });
  stores = await openTestStores(folder);
  apiPort = await freePort();
  const configFile = join(folder, "kubeconfig");
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${apiPort}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  };
  writeFileSync(configFile, JSON.stringify(config));
  const { connectionPasswords: passwords, services } = stores;
  runtime = new KubernetesRuntime({
    api: new KubernetesApi({ namespace: "n", configFile }),
    settings: { namespace: "n", image: "i", storageClass: undefined, keeper: [], volumes: "retain" },
    ...{ passwords, services, logger: createLogger("silent") },
  });
  const organization = await stores.organizations.create("o");
  const id = await services.create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: 1 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: false, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
      external: { runtime: "kubernetes", sealFor: (serviceId) => passwords.seal(serviceId, password) },
    },
    limits,
  );
  const hosts = managedConnection([`127.0.0.1:${host.ports.http}`], undefined);
  await services.setEngineFacts(id, { databaseVersion: "", managedConnection: hosts });
  service = (await services.find(id)) as Service;
});

afterAll(async () => {
  await stores?.close();
  await host?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Ends with the sentence that it reports, as soon as it would wait for something. */
function impatient(): Transition {
  const ending = new AbortController();
  return { signal: ending.signal, report: async (sentence) => ending.abort(new Error(sentence)) };
}

test("hosts that run serve, and the service is written when the API server answers", async () => {
  const engine = await runtime.start(service, impatient());
  try {
    expect(engine).toMatchObject({
      version: expect.stringMatching(/^26\./),
      managedConnection: service.managedConnection,
      note: expect.stringMatching(/^The API server of Kubernetes: nothing listens at http:\/\/127\.0\.0\.1/),
    });
    expect(await engine.isCurrent(service)).toBe(true);
    const api = createServer((_, response) => response.writeHead(403).end());
    await once(api.listen(apiPort, "127.0.0.1"), "listening");
    try {
      await until("it is to be started again", async () => !(await engine.isCurrent(service)));
    } finally {
      api.closeAllConnections();
      api.close();
    }
  } finally {
    await engine.stop();
  }
});

test("a service without hosts that answer waits for the API server", async () => {
  const without = { ...service, managedConnection: null };
  await expect(runtime.start(without, impatient())).rejects.toThrow(/nothing listens/);
  await host.kill();
  await expect(runtime.start(service, impatient())).rejects.toThrow(/nothing listens/);
});
