/** The life of a service with the Altinity operator itself: see `harness/kubernetes/altinity.ts`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AltinityCluster, altinityMissing } from "../../../harness/kubernetes/altinity.ts";
import { testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = altinityMissing();
if (missing !== undefined) console.warn(`The Altinity operator itself is not tested: ${missing}.`);

/** Reconciliations wait for timeouts of the operator's own. */
const limitMs = 600_000;
const digest = `clickhouse/clickhouse-server@sha256:${"a".repeat(64)}`;

let stage: AltinityCluster;
let served: Served;
let service: BenchService;

const environment = (image: string) => ({
  MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
  MILLRACE_KUBERNETES_CONFIG: stage.cluster.configFile("admin"),
  MILLRACE_KUBERNETES_STORAGE_CLASS: "fast",
  MILLRACE_KUBERNETES_IMAGE: image,
});
const details = () => served.api.getService({ params: service.params });
const untilState = (state: string) =>
  until(`the service is ${state}`, async () => (await details()).state === state, limitMs);
const untilSaid = (said: RegExp) =>
  until(`it says ${said}`, async () => said.test((await details()).stateMessage ?? ""), limitMs);
const command = (name: "start" | "stop") =>
  served.api.updateServiceState({ params: service.params, body: { command: name } });
const container = async () => (await stage.host.pods())[0]?.spec.containers[0];
const untilContainer = (wanted: object) =>
  until("the pod is as wanted", async () => sameIn(await container(), wanted), limitMs);
const sameIn = (found: unknown, wanted: object) =>
  JSON.stringify({ ...(found as object), ...wanted }) === JSON.stringify(found);
const rows = () => query(service, "SELECT sum(a) FROM t").catch((error: Error) => error.message);

describe.skipIf(missing !== undefined)("a service that the Altinity operator runs", () => {
  beforeAll(async () => {
    stage = await AltinityCluster.start();
    served = await serve({ env: environment("clickhouse/clickhouse-server:26.7") });
  }, limitMs);

  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  test(
    "is created at the default size",
    async () => {
      service = await runningService(served, { runtime: "kubernetes", idleScaling: false });
      const resources = { limits: { memory: "8Gi" }, requests: { cpu: "2", memory: "8Gi" } };
      expect(await container()).toMatchObject({ image: "clickhouse/clickhouse-server:26.7", resources });
      await query(service, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a");
      await query(service, "INSERT INTO t SELECT 7");
      expect(await rows()).toBe("7");
    },
    limitMs,
  );

  test(
    "gets another size",
    async () => {
      await served.api.updateServiceScaling({ params: service.params, body: { maxReplicaMemoryGb: 16 } });
      await untilContainer({ resources: { limits: { memory: "16Gi" }, requests: { cpu: "4", memory: "16Gi" } } });
      await until("the row is there", async () => (await rows()) === "7", limitMs);
      await untilState("running");
    },
    limitMs,
  );

  test(
    "stops, keeps its volume, and starts again",
    async () => {
      await command("stop");
      await untilState("stopped");
      expect(await stage.host.pods()).toEqual([]);
      expect(await stage.host.claims()).toBe(1);
      await command("start");
      await untilState("running");
      expect(await rows()).toBe("7");
    },
    limitMs,
  );

  test(
    "gets another image, by digest",
    async () => {
      await served.stop();
      served = await serve({ dataDir: served.dataDir, env: environment(digest) });
      await untilContainer({ image: digest });
      await until("the row is there", async () => (await rows()) === "7", limitMs);
      await untilState("running");
    },
    limitMs,
  );

  test(
    "says what the operator gives up, and runs when the cause is gone",
    async () => {
      stage.host.isBroken = true;
      await served.api.updateServiceScaling({ params: service.params, body: { maxReplicaMemoryGb: 8 } });
      await untilSaid(/operator says Aborted.*FAILED to reconcile/);
      expect((await details()).state).toBe("degraded");
      stage.host.isBroken = false;
      await untilState("running");
      expect(await rows()).toBe("7");
    },
    limitMs,
  );

  test(
    "names the node that is missing, and runs when it is back",
    async () => {
      await stage.host.loseNode();
      await untilSaid(/Unschedulable: no nodes available/);
      expect((await details()).state).toBe("degraded");
      await stage.host.addNode();
      await untilState("running");
      expect(await rows()).toBe("7");
    },
    limitMs,
  );

  test(
    "is deleted with its installation",
    async () => {
      await command("stop");
      await untilState("stopped");
      await served.api.deleteService({ params: service.params });
      const kind = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
      const left = async () => ((await stage.cluster.must("GET", kind)) as { items: unknown[] }).items.length;
      await until("the operator lets it go", async () => (await left()) === 0, limitMs);
    },
    limitMs,
  );
});
