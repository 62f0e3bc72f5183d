/**
 * Takes the place of a node with a kubelet: binds the volumes, and runs one genuine ClickHouse server for the pod of an
 * installation, with the ports that the operator expects, on 127.0.0.1. Services of Kubernetes get their names in
 * `/etc/hosts`, which must be a file of this test's own.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { TestServer } from "../clickhouse/server.ts";
import { type TestCluster, testNamespace } from "./cluster.ts";

export const operatorUser = { name: "clickhouse_operator", password: "password-of-the-operator" };

const namespace = `/api/v1/namespaces/${testNamespace}`;
const node = "/api/v1/nodes/node-1";
const ofInstallations = "labelSelector=clickhouse.altinity.com/chi";
const merge = "application/merge-patch+json";
const lookMs = 200;

export type Pod = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string; readonly image: string; readonly resources: unknown }[];
  };
};

type Claim = {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly storageClassName: string;
    readonly accessModes: unknown;
    readonly resources: { readonly requests: unknown };
    readonly volumeName?: string;
  };
};

export class PodHost implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #names = new Set<string>();
  #server: TestServer | undefined;
  /** The pod whose server runs. */
  #running: string | undefined;
  #isBroken = false;
  #isClosed = false;
  #loop: Promise<void> | undefined;

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
  }

  /** Adds the node with room for a small installation, and begins to serve it. */
  async addNode(): Promise<void> {
    const allocatable = { cpu: "16", memory: "64Gi", pods: "110" };
    const now = new Date().toISOString();
    const ready = { type: "Ready", status: "True", lastHeartbeatTime: now, lastTransitionTime: now };
    const status = { allocatable, capacity: allocatable, conditions: [ready] };
    await this.#cluster.must("POST", "/api/v1/nodes", { metadata: { name: "node-1" }, status });
    this.#isBroken = false;
    const fast = { metadata: { name: "fast" }, provisioner: "none/none", allowVolumeExpansion: true };
    if (this.#loop === undefined) await this.#cluster.must("POST", "/apis/storage.k8s.io/v1/storageclasses", fast);
    this.#loop ??= this.#run();
  }

  /** Pods that are placed on it do not start any more, until it is false. */
  set isBroken(isBroken: boolean) {
    this.#isBroken = isBroken;
  }

  /** The node and what runs on it are gone. */
  async loseNode(): Promise<void> {
    this.#isBroken = true;
    await this.#cluster.must("DELETE", node);
    await this.#server?.kill();
    this.#running = undefined;
    for (const { metadata } of await this.pods()) await this.#end(metadata.name);
  }

  async pods(): Promise<readonly Pod[]> {
    return await this.#list<Pod>(`pods?${ofInstallations}`);
  }

  async claims(): Promise<number> {
    return (await this.#list("persistentvolumeclaims")).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#loop;
    await this.#server?.[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      // An object may have changed since it was read: it is looked at again.
      await this.#look().catch(() => undefined);
      await delay(lookMs);
    }
  }

  async #look(): Promise<void> {
    // Without a kubelet, the node would be tainted as not ready.
    await this.#cluster.call("PATCH", node, { spec: { taints: null } }, merge);
    for (const claim of await this.#list<Claim>("persistentvolumeclaims")) await this.#bind(claim);
    for (const { metadata } of await this.#list<Pod>("services")) this.#name(metadata.name);
    for (const pod of await this.pods()) {
      const { name, uid, deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined) {
        if (this.#running === uid) await this.#server?.kill();
        await this.#end(name);
      } else if (pod.spec.nodeName === "node-1" && this.#running !== uid && !this.#isBroken) await this.#start(pod);
    }
  }

  async #bind({ metadata: { name, uid }, spec }: Claim): Promise<void> {
    if (spec.volumeName !== undefined) return;
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: testNamespace, name, uid };
    const { storageClassName, accessModes, resources } = spec;
    const volume = { storageClassName, accessModes, capacity: resources.requests, hostPath: { path: "/unused" } };
    const metadata = { name: `volume-${uid}` };
    await this.#cluster.call("POST", "/api/v1/persistentvolumes", { metadata, spec: { ...volume, claimRef } });
  }

  #name(service: string): void {
    if (this.#names.has(service)) return;
    this.#names.add(service);
    appendFileSync("/etc/hosts", `127.0.0.1 ${service}.${testNamespace}.svc.cluster.local\n`);
  }

  async #start({ metadata: { name, uid, labels }, spec: { containers } }: Pod): Promise<void> {
    const kind = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
    const { spec } = (await this.#cluster.must("GET", `${kind}/${labels["clickhouse.altinity.com/chi"]}`)) as {
      spec: { configuration: { users: Record<string, string> } };
    };
    const users = usersOf(spec.configuration.users);
    if (this.#server === undefined) {
      this.#server = await TestServer.start({ ports: { http: 8123, tcp: 9000 }, users: [operatorUser, ...users] });
    } else await this.#server.restart(users);
    this.#running = uid;
    const now = new Date().toISOString();
    const types = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
    const state = { ready: true, started: true, restartCount: 0, state: { running: { startedAt: now } } };
    const status = {
      ...{ phase: "Running", podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }], hostIP: "127.0.0.1", startTime: now },
      conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: now })),
      containerStatuses: containers.map(({ name, image }) => ({ name, image, imageID: image, ...state })),
    };
    await this.#cluster.must("PATCH", `${namespace}/pods/${name}/status`, { status }, merge);
  }

  async #end(pod: string): Promise<void> {
    await this.#cluster.call("DELETE", `${namespace}/pods/${pod}?gracePeriodSeconds=0`);
  }

  async #list<Item>(of: string): Promise<readonly Item[]> {
    return ((await this.#cluster.must("GET", `${namespace}/${of}`)) as { items: readonly Item[] }).items;
  }
}

/** Those of the installation, as hashes. The session of the test server itself is `default`. */
export function usersOf(users: Readonly<Record<string, string>>) {
  const suffix = "/password_sha256_hex";
  return Object.entries(users)
    .filter(([name]) => name.endsWith(suffix))
    .map(([name, passwordSha256]) => ({ name: name.slice(0, -suffix.length), passwordSha256 }))
    .filter(({ name }) => name !== "default");
}
