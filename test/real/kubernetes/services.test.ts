/** Services in Kubernetes, on a real API server: a stand-in for the operator runs a genuine server per host. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { grantRoleOfChart } from "../../../harness/kubernetes/chart-role.ts";
import { TestCluster, testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { mostReplicas } from "../../../harness/kubernetes/installation-crd.ts";
import { FakeOperator } from "../../../harness/kubernetes/operator.ts";
import { startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows, untilState as untilPipe } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import type { Installation } from "../../../src/services/kubernetes/objects.ts";

const missing = kubernetesMissing();
if (missing !== undefined) console.warn(`Services in Kubernetes are not tested: ${missing}.`);

const path = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
let cluster: TestCluster;
let operator: FakeOperator;
let served: Served;
let service: BenchService;

const nameOf = (id: string) => `mr-${id.replaceAll("-", "").slice(0, 12)}`;
const installation = async (id = service.id) =>
  (await cluster.call("GET", `${path}/${nameOf(id)}`)).body as unknown as Installation;
const details = (of = service) => served.api.getService({ params: of.params });
const command = (name: "start" | "stop" | "awake", of = service) =>
  served.api.updateServiceState({ params: of.params, body: { command: name } });
const untilState = (state: string, of = service) =>
  until(`the service is ${state}`, async () => (await details(of)).state === state);
const create = (body: object) =>
  served.api.createService({
    params: { organizationId: served.credentials.organizationId },
    body: { name: "x", runtime: "kubernetes", ...body },
  });
const answer = (of = service) => query(of, "SELECT sum(a) FROM t");

const environment = () => ({
  MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
  MILLRACE_KUBERNETES_CONFIG: cluster.configFile("millrace"),
  MILLRACE_KUBERNETES_STORAGE_CLASS: "fast",
  MILLRACE_KUBERNETES_KEEPER: "keeper-0.keeper:2181",
  MILLRACE_IDLE_MINUTE_MS: "500",
});

type Failure = Error & { readonly code?: string; readonly issues?: readonly { path: string; message: string }[] };
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: Failure) => error,
  );

describe.skipIf(missing !== undefined)("a service in Kubernetes", () => {
  beforeAll(async () => {
    cluster = await TestCluster.start();
    operator = new FakeOperator(cluster);
    await grantRoleOfChart(cluster);
    served = await serve({ env: environment() });
    service = await runningService(served, { runtime: "kubernetes", maxReplicaMemoryGb: 4, diskGb: 20 });
    await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    await query(service, "INSERT INTO t SELECT number FROM numbers(10)");
  });

  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test("is one installation with the size, the users and the settings of the service, and no password", async () => {
    const { metadata, spec } = await installation();
    expect(metadata.labels).toEqual({
      "app.kubernetes.io/managed-by": "millrace",
      "millrace/service-id": service.id,
    });
    expect(spec).toMatchObject({
      stop: "no",
      configuration: {
        users: {
          "millrace/profile": "default",
          "default/password_sha256_hex": expect.stringMatching(/^[0-9a-f]{64}$/),
        },
        settings: { "merge_tree/replicated_deduplication_window_seconds": "2592000" },
        zookeeper: { nodes: [{ host: "keeper-0.keeper", port: 2181 }] },
        clusters: [{ name: "main", layout: { shardsCount: 1, replicasCount: 1 } }],
      },
      templates: {
        podTemplates: [{ spec: { containers: [{ resources: { limits: { memory: "4Gi" } } }] } }],
        volumeClaimTemplates: [
          {
            reclaimPolicy: "Retain",
            spec: { storageClassName: "fast", resources: { requests: { storage: "20Gi" } } },
          },
        ],
      },
    });
    expect(JSON.stringify(spec)).not.toContain(service.password);
    expect(await details()).toMatchObject({
      ...{ runtime: "kubernetes", state: "running", maxReplicaMemoryGb: 4, diskGb: 20, idleScaling: false },
      databaseVersion: expect.stringMatching(/^26\./),
    });
  });

  test("stops and starts its pods, and keeps its rows", async () => {
    await command("stop");
    await untilState("stopped");
    expect(await installation()).toMatchObject({ spec: { stop: "yes" }, status: { status: "Completed" } });
    expect(operator.hostsOf(nameOf(service.id)).map(({ pid }) => pid)).toEqual([0]);
    await command("start");
    await untilState("running");
    expect(await answer()).toBe("45");
  });

  test("has the users of the service, and takes new ones while it runs", async () => {
    const { params } = service;
    const { user } = await served.api.createServiceUser({ params, body: { name: "reader", readonly: true } });
    const users = async () => ((await installation()).spec.configuration as { users: object }).users;
    await until("the user is written", async () => Object.hasOwn(await users(), `${user.name}/profile`));
    await untilState("running");
    await served.api.deleteServiceUser({ params: { ...params, userName: user.name } });
    await until("the user is gone", async () => !Object.hasOwn(await users(), `${user.name}/profile`));
    await untilState("running");
  });

  test("becomes idle without queries, and a query wakes it", async () => {
    const { params } = service;
    await served.api.updateServiceScaling({ params, body: { idleScaling: true, idleTimeoutMinutes: 5 } });
    await untilState("idle");
    expect((await installation()).spec.stop).toBe("yes");
    await served.api.updateServiceScaling({ params, body: { idleScaling: false } });
    expect(await answer()).toBe("45");
    expect((await installation()).spec.stop).toBe("no");
  });

  test("gets more replicas and memory, and says what the cluster refuses", async () => {
    const { params } = service;
    await served.api.updateServiceScaling({ params, body: { numReplicas: 2, maxReplicaMemoryGb: 8 } });
    await until("there are two hosts", async () => operator.hostsOf(nameOf(service.id)).length === 2);
    await untilState("running");
    expect((await details()).maxTotalMemoryGb).toBe(16);
    // The other host answers too: it has no table of the first, because the servers of the test have no Keeper.
    await operator.hostsOf(nameOf(service.id))[1]?.client.command("CREATE TABLE t (a UInt64) ENGINE = Memory");
    await operator.hostsOf(nameOf(service.id))[0]?.kill();
    await until("the second host answers", async () => (await answer().catch(() => "")) === "0");
    await operator.hostsOf(nameOf(service.id))[0]?.restart();
    const refused = await failureOf(
      served.api.updateServiceScaling({ params, body: { numReplicas: mostReplicas + 1 } }),
    );
    expect(refused?.message).toMatch(/replicasCount.*less than or equal to 3/);
    expect(refused).toMatchObject({ code: "KUBERNETES_REFUSED", issues: [{ path: "numReplicas" }] });
    expect((await details()).numReplicas).toBe(2);
    const shrunk = await failureOf(served.api.updateService({ params, body: { diskGb: 10 } }));
    expect(shrunk?.message).toMatch(/diskGb: must be at least 20: the volumes .* only grow/);
    await served.api.updateServiceScaling({ params, body: { numReplicas: 1 } });
    await until("the first host answers again", async () => (await answer().catch(() => "")) === "45");
    expect(operator.hostsOf(nameOf(service.id))).toHaveLength(1);
  });

  test("is not created when the API server refuses it", async () => {
    const refused = await failureOf(create({ numReplicas: mostReplicas + 2 }));
    expect(refused).toMatchObject({ code: "KUBERNETES_REFUSED", issues: [{ path: "numReplicas" }] });
    const { items } = (await cluster.must("GET", path)) as { items: unknown[] };
    expect(items).toHaveLength(1);
  });

  test("shows what the operator says while it starts, and the reason when it gives up", async () => {
    operator.failWith("no room for the volume");
    const created = await create({ name: "unlucky" });
    const params = { ...service.params, serviceId: created.service.id };
    const unlucky = { ...service, id: created.service.id, params };
    await untilState("degraded", unlucky);
    expect((await details(unlucky)).stateMessage).toMatch(/operator says Aborted.*no room for the volume/);
    operator.failWith(undefined);
    await untilState("running", unlucky);
    operator.pause();
    await command("stop", unlucky);
    await until("it waits", async () => /has not answered yet/.test((await details(unlucky)).stateMessage ?? ""));
    expect((await details(unlucky)).state).toBe("stopping");
    operator.resume();
    await untilState("stopped", unlucky);
    await served.api.deleteService({ params });
    await until("it is gone", async () => (await failureOf(details(unlucky)))?.code === "NOT_FOUND");
    const at = `${path}/${nameOf(unlucky.id)}`;
    await until("the installation is gone", async () => (await cluster.call("GET", at)).status === 404);
    expect(operator.hostsOf(nameOf(unlucky.id))).toEqual([]);
  });

  test("a start that is no longer wanted ends", async () => {
    operator.pause();
    const created = await create({ name: "hasty" });
    const hasty = { ...service, id: created.service.id, params: { ...service.params, serviceId: created.service.id } };
    await until("it waits", async () => /has not answered yet/.test((await details(hasty)).stateMessage ?? ""));
    expect((await details(hasty)).state).toBe("provisioning");
    await command("stop", hasty);
    await until("the pods are to stop", async () => (await installation(hasty.id)).spec.stop === "yes");
    operator.resume();
    await untilState("stopped", hasty);
  });

  test("goes on while the API server is away, and what was asked for happens when it is back", async () => {
    const { params } = service;
    await untilState("running");
    await cluster.killServer();
    expect(await answer()).toBe("45");
    // The installation has to be written anew, so that Millrace connects again.
    await served.api.createServiceUser({ params, body: { name: "late", readonly: true } });
    await until("it is told", async () => /API server of Kubernetes/.test((await details()).stateMessage ?? ""));
    expect(await answer()).toBe("45");
    const refused = await failureOf(create({}));
    expect(refused).toMatchObject({ code: "KUBERNETES_UNREACHABLE" });
    expect(refused?.message).toMatch(/nothing listens at https:\/\/127\.0\.0\.1/);
    await command("stop");
    await until("it is told", async () => {
      const { state, stateMessage = "" } = await details();
      return state === "stopping" && /API server of Kubernetes/.test(stateMessage);
    });
    await cluster.startServer();
    await untilState("stopped");
    await command("start");
    await untilState("running");
  });

  test("answers to a control plane that starts while the API server is away, and is written when it is back", async () => {
    const { params } = service;
    await cluster.killServer();
    served = await served.restartAfterKill();
    await untilState("running");
    expect(await answer()).toBe("45");
    expect((await details()).stateMessage).toMatch(/API server of Kubernetes/);
    const { user } = await served.api.createServiceUser({ params, body: { name: "patient", readonly: true } });
    await cluster.startServer();
    const users = async () => ((await installation()).spec.configuration as { users: object }).users;
    await until("the user is written", async () => Object.hasOwn(await users(), `${user.name}/profile`));
    await until("it waits for nothing", async () => {
      const { state, stateMessage } = await details();
      return state === "running" && stateMessage === undefined;
    });
    expect(await answer()).toBe("45");
  });

  test("is not written again by a control plane that starts", async () => {
    const { generation } = (await installation()).metadata;
    served = await served.restartAfterKill();
    await untilState("running");
    expect(await answer()).toBe("45");
    expect((await installation()).metadata.generation).toBe(generation);
  });

  test("is loaded by pipes exactly once, also when its pods are stopped and killed meanwhile", async () => {
    await served.stop();
    const { MILLRACE_KUBERNETES_KEEPER: _, ...withoutKeeper } = environment();
    await using other = await serve({ env: withoutKeeper });
    await using store = await startFauxqs();
    const loaded = await runningService(other, { runtime: "kubernetes" });
    for (let file = 0; file < 8; file += 1) {
      await store.put(`in/${file}.json`, rows(file * 2_000, (file + 1) * 2_000));
    }
    const settings = { object_storage_max_file_count: 1, object_storage_concurrency: 1 };
    const pipeId = await createPipe(other, loaded, pipeBody(store, "in/*.json", "orders", { body: { settings } }));
    const look = (sql: string) => query(loaded, sql).catch((error: Error) => error.message);
    const isBegun = async () => Number(await look("SELECT count() FROM orders")) > 0;
    const state = async () => (await other.api.getService({ params: loaded.params })).state;
    const send = (name: "start" | "stop") =>
      other.api.updateServiceState({ params: loaded.params, body: { command: name } });
    await until("a part is loaded", isBegun);
    await send("stop");
    await until("it is stopped", async () => (await state()) === "stopped");
    await send("start");
    await until("it answers", isBegun);
    const [host] = operator.hostsOf(nameOf(loaded.id));
    await host?.kill();
    await host?.restart();
    await untilPipe(other, loaded, pipeId, "Completed");
    expect(await look("SELECT count(), uniqExact(id), sum(id) FROM orders")).toBe("16000\t16000\t127992000");
  });

  test("names the Role that Millrace lacks", async () => {
    await served.stop();
    const env = { MILLRACE_KUBERNETES_NAMESPACE: testNamespace };
    const forbidden = { ...env, MILLRACE_KUBERNETES_CONFIG: cluster.configFile("nobody") };
    await using other = await serve({ env: forbidden });
    const { organizationId } = other.credentials;
    const refused = await failureOf(
      other.api.createService({ params: { organizationId }, body: { name: "x", runtime: "kubernetes" } }),
    );
    expect(refused?.message).toMatch(/Millrace may not write .*cannot patch resource.*Grant it with a Role/);
  });
});
