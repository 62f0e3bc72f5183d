/**
 * The runtime of services in a Kubernetes cluster. A service is an object of an operator, which makes pods, volumes and
 * addresses. Starting writes it and connects to the first host that answers; stopping writes that the pods are to stop,
 * and the volumes are kept. The end of this program changes nothing in the cluster.
 */
import { abortable, sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { sha256Hex } from "../../store/database/secrets.ts";
import type { ConnectionPasswords } from "../../store/services/service-connections.ts";
import type { Service, ServiceStore } from "../../store/services/services.ts";
import { connectEngine } from "../external/engine.ts";
import type { KubernetesApi } from "../kubernetes/api.ts";
import {
  connectToStoredHosts,
  managedAddresses,
  managedConnection,
  type StoredHostsOptions,
} from "../kubernetes/connection.ts";
import { withoutHashes } from "../kubernetes/failure.ts";
import { hostChanges } from "../kubernetes/host-changes.ts";
import { installationDigest, installationName, type Wanted } from "../kubernetes/installation.ts";
import type { ManagedObject } from "../kubernetes/objects.ts";
import type { ClusterOperator } from "../kubernetes/operator.ts";
import { podTrouble } from "../kubernetes/pods.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";
import type { Transition } from "../transitions.ts";

/** Between two looks at an installation that changes. */
const lookMs = 1_000;

export type KubernetesOptions = {
  readonly api: KubernetesApi;
  readonly operator: ClusterOperator;
  readonly passwords: ConnectionPasswords;
  readonly services: Pick<ServiceStore, "listUsers">;
  readonly logger: Logger;
};

export class KubernetesRuntime implements ServiceRuntime {
  readonly #options: KubernetesOptions;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  /**
   * Resolves when a host answers. Rejects with KUBERNETES_REFUSED when the API server or the operator refuses the
   * service's object; an API server that is away, and pods that do not start, are reported and waited for.
   */
  async start(service: Service, transition: Transition): Promise<RunningEngine> {
    const { operator } = this.#options;
    this.#requireSameOperator(service);
    const password = this.#options.passwords.open(service);
    const wanted = await this.#objects(service, password, "no");
    await this.#apply(wanted, transition);
    for (;;) {
      const found = await this.#read(service, transition);
      if (operator.phaseOf(found) === "aborted") {
        throw new AppError("KUBERNETES_REFUSED", sentence(operator.progressOf(found)));
      }
      const hosts = await this.#patient(transition, () => this.#hostsOf(found));
      const failure = hosts.length === 0 ? undefined : await this.#tryToConnect(service, hosts, password, wanted);
      if (failure !== undefined && !(failure instanceof AppError)) return failure;
      await transition.report(await this.#whyNot(found, failure));
      await nextLook(transition);
    }
  }

  connect(service: Service): Promise<RunningEngine> {
    return connectToStoredHosts(service, this.#options);
  }

  /** Resolves when the operator has ended the pods. */
  async halt(service: Service, transition: Transition): Promise<void> {
    const { operator } = this.#options;
    if (!operator.canStop) return;
    this.#requireSameOperator(service);
    const wanted = await this.#objects(service, this.#options.passwords.open(service), "yes");
    // What does not exist has nothing to stop.
    if ((await this.#patient(transition, () => this.#find(service.id))) === undefined) return;
    await this.#apply(wanted, transition);
    for (;;) {
      const found = await this.#read(service, transition);
      if (operator.phaseOf(found) === "completed") return;
      await transition.report(sentence(operator.progressOf(found)));
      await nextLook(transition);
    }
  }

  /** Resolves when the service's objects are gone. Volumes stay, unless the operator of Millrace wants them deleted. */
  async remove(service: Service, transition: Transition): Promise<void> {
    if (service.runtime !== "kubernetes") return;
    this.#requireSameOperator(service);
    const name = installationName(service.id);
    for (const resource of this.#options.operator.resources.toReversed()) {
      for (;;) {
        const found = await this.#patient(transition, (api) => api.read(resource, name));
        if (found === undefined) break;
        const isAsked = found.metadata.deletionTimestamp !== undefined;
        if (isAsked) await transition.report("Waits until the ClickHouse operator has deleted the pods.");
        else await this.#patient(transition, (api) => api.remove(resource, name));
        await nextLook(transition);
      }
    }
  }

  /** Why services have one replica; undefined: they may have more. */
  get whyOneReplica(): string | undefined {
    return this.#options.operator.whyOneReplica;
  }

  get canStop(): boolean {
    return this.#options.operator.canStop;
  }

  /** Has the API server judge a service before it is stored. Throws KUBERNETES_*. */
  async check(service: Omit<Wanted, "ownPasswordSha256">): Promise<void> {
    const { api, operator } = this.#options;
    const wanted = { ...service, ownPasswordSha256: sha256Hex("") };
    for (const object of operator.objectsOf(wanted, "no")) await api.apply(object, true);
  }

  /** The other operator would make an empty server beside the data. */
  #requireSameOperator({ managedConnection: stored }: Service): void {
    if (stored === null || stored.operator === this.#options.operator.name) return;
    const message = `The service was made with --kubernetes-operator ${stored.operator}: start the server with it.`;
    throw new AppError("KUBERNETES_REFUSED", message);
  }

  async #objects(service: Service, password: string, stop: "yes" | "no"): Promise<readonly ManagedObject[]> {
    const users = await this.#options.services.listUsers(service.id);
    const wanted = { ...service, users, ownPasswordSha256: sha256Hex(password) };
    return this.#options.operator.objectsOf(wanted, stop);
  }

  async #apply(objects: readonly ManagedObject[], transition: Transition): Promise<void> {
    for (const wanted of objects) {
      await this.#patient(transition, async (api) => {
        const found = await api.read(wanted, wanted.metadata.name);
        const renewed = this.#options.operator.renewed(wanted, found);
        // Whoever was suspended since the look, and has lost the service to another process, must not win.
        const resourceVersion = found?.metadata.resourceVersion;
        const metadata = { ...renewed.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
        await api.apply({ ...renewed, metadata });
      });
    }
  }

  /** The object that is observed. */
  #find(serviceId: string): Promise<ManagedObject | undefined> {
    const { api, operator } = this.#options;
    const observed = operator.resources.at(-1) as ClusterOperator["resources"][number];
    return api.read(observed, installationName(serviceId));
  }

  async #read({ id }: Service, transition: Transition): Promise<ManagedObject> {
    const found = await this.#patient(transition, () => this.#find(id));
    if (found === undefined) throw new AppError("KUBERNETES_REFUSED", "Somebody has deleted the service's object.");
    return found;
  }

  #hostsOf(found: ManagedObject): Promise<readonly string[]> {
    const { api, operator } = this.#options;
    return operator.hostsOf(found, () => api.pods(operator.podsOf(found.metadata.name)));
  }

  /** Waits for an API server that is away. */
  async #patient<T>(transition: Transition, work: (api: KubernetesApi) => Promise<T>): Promise<T> {
    for (;;) {
      transition.signal.throwIfAborted();
      try {
        return await abortable(work(this.#options.api), transition.signal);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "KUBERNETES_UNREACHABLE") throw error;
        await transition.report(error.message);
      }
      await nextLook(transition);
    }
  }

  /** Returns why no host answers. */
  async #tryToConnect(
    service: Service,
    hosts: readonly string[],
    password: string,
    started: readonly ManagedObject[],
  ): Promise<RunningEngine | AppError> {
    const { operator, logger } = this.#options;
    const content = contentOf(started);
    const haveHostsChanged = hostChanges(hosts, async () => {
      const found = await this.#find(service.id);
      if (found === undefined) return undefined;
      return { hosts: await this.#hostsOf(found), isComplete: operator.phaseOf(found) === "completed" };
    });
    const isCurrent = async (now: Service) =>
      contentOf(await this.#objects(now, password, "no")) === content && !haveHostsChanged();
    const connection = managedConnection(hosts, operator);
    try {
      const engine = await connectEngine(managedAddresses(connection, password), { isCurrent, logger });
      return { ...engine, managedConnection: connection };
    } catch (error) {
      if (error instanceof AppError && error.code === "CONNECTION_UNREACHABLE") return error;
      throw error;
    }
  }

  async #whyNot(found: ManagedObject, failure: AppError | undefined): Promise<string> {
    const { api, operator } = this.#options;
    const trouble = podTrouble(await api.pods(operator.podsOf(found.metadata.name)).catch(() => []));
    const progress = operator.progressOf(found);
    if (trouble !== undefined) return sentence(`${progress}; ${trouble}`);
    return failure === undefined ? sentence(progress) : sentence(`${progress}; ${failure.message.replace(/\.$/, "")}`);
  }
}

/** Equal for the same content. */
function contentOf(objects: readonly ManagedObject[]): string {
  return objects.map(installationDigest).join(" ");
}

/** Of a process without access to a cluster: it connects to what others run there, and can start nothing. */
export class NoKubernetes implements ServiceRuntime {
  readonly #options: StoredHostsOptions;

  constructor(options: StoredHostsOptions) {
    this.#options = options;
  }

  connect(service: Service): Promise<RunningEngine> {
    return connectToStoredHosts(service, this.#options);
  }

  async start(): Promise<RunningEngine> {
    const message = "The server was started without --kubernetes-namespace, which the service needs.";
    throw new AppError("KUBERNETES_REFUSED", message);
  }

  async halt(): Promise<void> {
    await this.start();
  }

  async remove({ runtime }: Service): Promise<void> {
    if (runtime === "kubernetes") await this.start();
  }
}

async function nextLook({ signal }: Transition): Promise<void> {
  await sleep(lookMs, signal);
  signal.throwIfAborted();
}

function sentence(clause: string): string {
  return withoutHashes(`${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`);
}
