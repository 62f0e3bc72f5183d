/**
 * Stands for the operator: follows the installations of a namespace, runs one genuine ClickHouse server per host, and
 * writes `status` as operator 0.25.6 was seen to write it. Unlike the operator it tells the port of a host with its
 * name, because all hosts are 127.0.0.1.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Installation } from "../../src/services/kubernetes/objects.ts";
import { TestServer } from "../clickhouse/server.ts";
import { type TestCluster, testNamespace } from "./cluster.ts";
import { operatorUser, usersOf } from "./pod-host.ts";

const path = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
const finalizer = "test.millrace/hosts";
const lookMs = 50;

export class FakeOperator implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #hasBackups: boolean;
  /** Hosts by installation; the folder of a stopped one stays, as its volume would. */
  readonly #hosts = new Map<string, TestServer[]>();
  /** What was last done, by installation. */
  readonly #done = new Map<string, string>();
  /** Tasks that were completed, by installation, newest first. */
  readonly #completed = new Map<string, string[]>();
  /** Errors stay in the status when their task is over. */
  readonly #errors = new Map<string, string[]>();
  /** The error that the next reconciliations end with. */
  #failure: string | undefined;
  #isPaused = false;
  #isClosed = false;
  readonly #running: Promise<void>;

  /** `hasBackups`: the servers can write backups to S3. */
  constructor(cluster: TestCluster, { hasBackups = false } = {}) {
    this.#cluster = cluster;
    this.#hasBackups = hasBackups;
    this.#running = this.#run();
  }

  hostsOf(name: string): readonly TestServer[] {
    return this.#hosts.get(name) ?? [];
  }

  /** Ends every reconciliation in `Aborted` until it is undefined again. */
  failWith(failure: string | undefined): void {
    this.#failure = failure;
    this.#done.clear();
  }

  /** Sees no installation until `resume`. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    await Promise.all([...this.#hosts.values()].flat().map((server) => server[Symbol.asyncDispose]()));
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      // An API server that is away is asked again.
      if (!this.#isPaused) await this.#look().catch(() => undefined);
      await delay(lookMs);
    }
  }

  async #look(): Promise<void> {
    const { items } = (await this.#cluster.must("GET", path)) as { items: readonly Installation[] };
    for (const installation of items) {
      if (installation.metadata.deletionTimestamp !== undefined) await this.#remove(installation);
      else if (this.#done.get(installation.metadata.name) !== installation.spec.taskID) await this.#bring(installation);
    }
  }

  async #bring(installation: Installation): Promise<void> {
    const { metadata, spec } = installation;
    const { name } = metadata;
    const taskID = spec.taskID ?? "";
    await this.#merge(`${path}/${name}`, { metadata: { finalizers: [finalizer] } });
    const wanted = wantedOf(spec);
    const errors = this.#errors.get(name) ?? [];
    this.#errors.set(name, errors);
    const hosts = wanted.replicas;
    await this.#tell(name, { status: "InProgress", taskID, hosts, hostsCompleted: null, error: null, errors });
    // It says so of every new Service, and goes on.
    const error = this.#failure ?? `Update Service: ${name} failed with error: just recreate the service`;
    if (errors.length === 0 || this.#failure !== undefined) {
      errors.unshift(`${new Date().toISOString()} ${error}`);
      await this.#tell(name, { error, errors });
    }
    const failure = this.#failure;
    const fqdns =
      failure === undefined
        ? (await this.#serve(name, wanted)).map(({ ports }) => `127.0.0.1:${ports.http}`)
        : undefined;
    // What was given up counts as completed, too.
    const taskIDsCompleted = [taskID, ...(this.#completed.get(name) ?? [])];
    this.#completed.set(name, taskIDsCompleted);
    const status = failure === undefined ? "Completed" : "Aborted";
    await this.#tell(name, { status, ...(fqdns === undefined ? {} : { fqdns }), taskIDsCompleted });
    this.#done.set(name, taskID);
  }

  async #serve(name: string, { isStopped, replicas, users }: Wanted): Promise<readonly TestServer[]> {
    const hosts = this.#hosts.get(name) ?? [];
    this.#hosts.set(name, hosts);
    for (const removed of hosts.splice(replicas)) await removed[Symbol.asyncDispose]();
    if (isStopped) for (const host of hosts) await host.kill();
    else {
      for (const host of hosts) if (host.pid === 0) await host.restart(users);
      const options = { users: [operatorUser, ...users], hasBackups: this.#hasBackups };
      while (hosts.length < replicas) hosts.push(await TestServer.start(options));
    }
    return hosts;
  }

  async #remove({ metadata: { name } }: Installation): Promise<void> {
    const hosts = this.#hosts.get(name) ?? [];
    for (const host of hosts) await host[Symbol.asyncDispose]();
    this.#hosts.delete(name);
    await this.#merge(`${path}/${name}`, { metadata: { finalizers: null } });
  }

  async #tell(name: string, status: object): Promise<void> {
    await this.#merge(`${path}/${name}/status`, { status });
  }

  async #merge(at: string, change: object): Promise<void> {
    await this.#cluster.must("PATCH", at, change, "application/merge-patch+json");
  }
}

type Wanted = {
  readonly isStopped: boolean;
  readonly replicas: number;
  readonly users: readonly { readonly name: string; readonly passwordSha256: string }[];
};

type Configuration = {
  readonly users: Readonly<Record<string, string>>;
  readonly clusters: readonly { readonly layout: { readonly replicasCount: number } }[];
};

function wantedOf({ stop, configuration }: Installation["spec"]): Wanted {
  const { users, clusters } = configuration as unknown as Configuration;
  return {
    isStopped: stop === "yes",
    replicas: clusters[0]?.layout.replicasCount ?? 1,
    users: usersOf(users),
  };
}
