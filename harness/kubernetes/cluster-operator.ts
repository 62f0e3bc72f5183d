/**
 * Stands for the operator of ClickHouse Inc.: follows the objects `ClickHouseCluster` of a namespace, runs a genuine
 * ClickHouse server for each, and shows it as a pod that is ready.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ClusterStatus } from "../../src/services/kubernetes/clickhouse-cluster.ts";
import type { ManagedObject } from "../../src/services/kubernetes/objects.ts";
import { TestServer } from "../clickhouse/server.ts";
import { until } from "../serve.ts";
import { type TestCluster, testNamespace } from "./cluster.ts";
import { clusterCrds } from "./cluster-crds.ts";

const base = `/apis/clickhouse.com/v1alpha1/namespaces/${testNamespace}`;
const pods = `/api/v1/namespaces/${testNamespace}/pods`;
const finalizer = "test.millrace/hosts";
const lookMs = 50;

export class FakeClusterOperator implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #servers = new Map<string, TestServer>();
  /** What was last done, by name. */
  readonly #done = new Map<string, number>();
  #isClosed = false;
  readonly #running: Promise<void>;

  private constructor(cluster: TestCluster) {
    this.#cluster = cluster;
    this.#running = this.#run();
  }

  /** Installs the kinds first. */
  static async start(cluster: TestCluster): Promise<FakeClusterOperator> {
    for (const crd of clusterCrds) {
      await cluster.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
      const path = `${base}/${crd.spec.names.plural}`;
      await until("the kind is served", async () => (await cluster.call("GET", path)).status === 200);
    }
    return new FakeClusterOperator(cluster);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    await Promise.all([...this.#servers.values()].map((server) => server[Symbol.asyncDispose]()));
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#look().catch(() => undefined);
      await delay(lookMs);
    }
  }

  async #look(): Promise<void> {
    const { items } = (await this.#cluster.must("GET", `${base}/clickhouseclusters`)) as {
      items: readonly ManagedObject[];
    };
    for (const object of items) {
      const { name, generation = 0, deletionTimestamp } = object.metadata;
      if (deletionTimestamp !== undefined) await this.#remove(name);
      else if (this.#done.get(name) !== generation) await this.#bring(object, generation);
    }
  }

  async #bring({ metadata: { name }, spec }: ManagedObject, generation: number): Promise<void> {
    const at = `${base}/clickhouseclusters/${name}`;
    await this.#merge(at, { metadata: { finalizers: [finalizer] } });
    const { name: keeper } = spec.keeperClusterRef as { name: string };
    await this.#cluster.must("GET", `${base}/keeperclusters/${keeper}`);
    await this.#tell(name, generation, { status: "False", message: "0 of 1 replicas are ready" });
    await this.#serve(name, usersOf(spec));
    await this.#tell(name, generation, { status: "True" });
    this.#done.set(name, generation);
  }

  async #serve(name: string, users: ReturnType<typeof usersOf>): Promise<void> {
    const known = this.#servers.get(name);
    if (known !== undefined) return await known.restart(users);
    const server = await TestServer.start({ users: [{ name: "operator", password: "o" }, ...users] });
    this.#servers.set(name, server);
    const pod = `${name}-clickhouse-0-0-0`;
    const container = {
      name: "clickhouse-server",
      image: "clickhouse",
      ports: [{ name: "http", containerPort: server.ports.http }],
    };
    await this.#cluster.must("POST", pods, {
      metadata: { name: pod, labels: { app: `${name}-clickhouse` } },
      spec: { containers: [container] },
    });
    const ip = "127.0.0.1";
    const status = { podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] };
    await this.#merge(`${pods}/${pod}/status`, { status });
  }

  async #remove(name: string): Promise<void> {
    await this.#servers.get(name)?.[Symbol.asyncDispose]();
    this.#servers.delete(name);
    await this.#cluster.call("DELETE", `${pods}/${name}-clickhouse-0-0-0?gracePeriodSeconds=0`);
    await this.#merge(`${base}/clickhouseclusters/${name}`, { metadata: { finalizers: null } });
  }

  async #tell(
    name: string,
    observedGeneration: number,
    ready: { readonly status: string; readonly message?: string },
  ): Promise<void> {
    const status: ClusterStatus = {
      observedGeneration,
      conditions: [
        { type: "SpecValid", status: "True" },
        { type: "Ready", ...ready },
      ],
    };
    await this.#merge(`${base}/clickhouseclusters/${name}/status`, { status });
  }

  async #merge(at: string, change: object): Promise<void> {
    await this.#cluster.must("PATCH", at, change, "application/merge-patch+json");
  }
}

type Users = Readonly<Record<string, { readonly password_sha256_hex?: string }>>;

/** The session of the test server itself is `default`, which has no password in both. */
function usersOf(spec: ManagedObject["spec"]) {
  const { extraUsersConfig } = spec.settings as unknown as { extraUsersConfig: { users: Users } };
  return Object.entries(extraUsersConfig.users).flatMap(([name, { password_sha256_hex: hash }]) =>
    hash === undefined ? [] : [{ name, passwordSha256: hash }],
  );
}
