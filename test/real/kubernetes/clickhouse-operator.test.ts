/** Services of the operator of ClickHouse Inc., on a real API server with a stand-in for the operator. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { grantRoleOfChart } from "../../../harness/kubernetes/chart-role.ts";
import { TestCluster, testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { FakeClusterOperator } from "../../../harness/kubernetes/cluster-operator.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { installationName } from "../../../src/services/kubernetes/installation.ts";

const missing = kubernetesMissing();

describe.skipIf(missing !== undefined)("a service of the operator of ClickHouse Inc.", () => {
  const peers = new AsyncDisposableStack();
  let cluster: TestCluster;
  let served: Served;
  let service: BenchService;
  let env: Record<string, string>;

  beforeAll(async () => {
    cluster = peers.use(await TestCluster.start());
    peers.use(await FakeClusterOperator.start(cluster));
    await grantRoleOfChart(cluster, { operator: "clickhouse" });
    env = {
      MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
      MILLRACE_KUBERNETES_CONFIG: cluster.configFile("millrace"),
      MILLRACE_KUBERNETES_IMAGE: "registry:5000/clickhouse:26.7",
    };
    served = await serve({ env: { ...env, MILLRACE_KUBERNETES_OPERATOR: "clickhouse" } });
    service = await runningService(served, { runtime: "kubernetes", maxReplicaMemoryGb: 4, diskGb: 20 });
    await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    await query(service, "INSERT INTO t SELECT number FROM numbers(10)");
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const base = `/apis/clickhouse.com/v1alpha1/namespaces/${testNamespace}`;
  const object = async (plural: string) =>
    await cluster.call("GET", `${base}/${plural}/${installationName(service.id)}`);
  const spec = async () => (await object("clickhouseclusters")).body.spec as Record<string, unknown>;

  test("is one ClickHouseCluster with a KeeperCluster of its own, and no password", async () => {
    expect((await object("keeperclusters")).status).toBe(200);
    const found = await spec();
    expect(found).toMatchObject({
      replicas: 1,
      shards: 1,
      keeperClusterRef: { name: installationName(service.id) },
      containerTemplate: {
        image: { repository: "registry:5000/clickhouse", tag: "26.7" },
        resources: { requests: { cpu: "1000m" }, limits: { memory: "4Gi" } },
      },
      dataVolumeClaimSpec: { resources: { requests: { storage: "20Gi" } } },
      settings: {
        extraUsersConfig: {
          users: { default: { networks: { ip: ["127.0.0.1", "::1"] } }, millrace: { profile: "default" } },
        },
      },
    });
    expect(JSON.stringify(found)).not.toContain(service.password);
    expect(await query(service, "SELECT sum(a) FROM t")).toBe("45");
  });

  test("is not written again by a control plane that starts, and is by a change of its size", async () => {
    const generation = async () =>
      ((await object("clickhouseclusters")).body.metadata as { generation: number }).generation;
    const before = await generation();
    served = await served.restartAfterKill();
    await until("it answers", async () => (await query(service, "SELECT sum(a) FROM t").catch(String)) === "45");
    expect(await generation()).toBe(before);
    await served.api.updateServiceScaling({ params: service.params, body: { maxReplicaMemoryGb: 8 } });
    await until("it is written", async () => (await generation()) > before);
    await until("it answers", async () => (await query(service, "SELECT sum(a) FROM t").catch(String)) === "45");
  });

  test("cannot be stopped, idle or have replicas, and says so", async () => {
    const { params } = service;
    const stop = served.api.updateServiceState({ params, body: { command: "stop" } });
    await expect(stop).rejects.toThrow(/has no field that stops pods\. Stop its pipes, or delete it/);
    for (const [body, refusal] of [
      [{ idleScaling: true }, /idleScaling must be false: the operator of ClickHouse Inc\. cannot stop pods/],
      [{ numReplicas: 2 }, /numReplicas must be 1: replicas are not available with the operator/],
    ] as const) {
      await expect(served.api.updateServiceScaling({ params, body })).rejects.toThrow(refusal);
    }
    expect((await served.api.getService({ params })).state).toBe("running");
  });

  test("is not made again by the other operator, and is deleted while it runs", async () => {
    const { params } = service;
    await served.stop();
    await using other = await serve({ env, dataDir: served.dataDir, keepData: true });
    const message = async () => (await other.api.getService({ params })).stateMessage ?? "";
    await until("it is told", async () => /made with --kubernetes-operator clickhouse/.test(await message()));
    await other.stop();
    served = await serve({ env: { ...env, MILLRACE_KUBERNETES_OPERATOR: "clickhouse" }, dataDir: served.dataDir });
    await until("it runs", async () => (await served.api.getService({ params })).state === "running");
    await served.api.deleteService({ params });
    for (const plural of ["clickhouseclusters", "keeperclusters"]) {
      await until(`no ${plural}`, async () => (await object(plural)).status === 404);
    }
  });
});
