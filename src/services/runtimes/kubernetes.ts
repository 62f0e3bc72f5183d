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
  requireOurOperator,
  type StoredHostsOptions,
} from "../kubernetes/connection.ts";
import { withoutHashes } from "../kubernetes/failure.ts";
import { hostChanges, lookedUp } from "../kubernetes/host-changes.ts";
import {
  clusterOf,
  type InstallationSettings,
  installationDigest,
  installationName,
  installationOf,
  renewed,
  type Wanted,
} from "../kubernetes/installation.ts";
import type { Installation } from "../kubernetes/objects.ts";
import { podTrouble } from "../kubernetes/pods.ts";
import { phaseOf, progressOf } from "../kubernetes/status.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";
import type { Transition } from "../transitions.ts";

/** Between two looks at an installation that changes. */
const lookMs = 1_000;

export type KubernetesOptions = {
  readonly api: KubernetesApi;
  readonly settings: InstallationSettings;
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
   * service's object; pods that do not start are reported and waited for, and so is an API server that is away while
   * none of the stored hosts answers.
   */
  async start(service: Service, transition: Transition): Promise<RunningEngine> {
    requireOurOperator(service);
    return await this.#patient(
      transition,
      () => this.#startInCluster(service, transition),
      (why) => this.#connectWithoutCluster(service, why),
    );
  }

  /** Throws KUBERNETES_*. */
  async #startInCluster(service: Service, transition: Transition): Promise<RunningEngine> {
    const password = this.#options.passwords.open(service);
    const wanted = await this.#installation(service, password, "no");
    await abortable(this.#apply(wanted), transition.signal);
    for (;;) {
      const found = await abortable(this.#read(service), transition.signal);
      if (phaseOf(found) === "aborted") {
        throw new AppError("KUBERNETES_REFUSED", sentence(progressOf(found)));
      }
      const hosts = hostsOf(found);
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
    requireOurOperator(service);
    const wanted = await this.#installation(service, this.#options.passwords.open(service), "yes");
    // What does not exist has nothing to stop.
    if ((await this.#ask(transition, () => this.#find(service.id))) === undefined) return;
    await this.#ask(transition, () => this.#apply(wanted));
    for (;;) {
      const found = await this.#ask(transition, () => this.#read(service));
      if (phaseOf(found) === "completed") return;
      await transition.report(sentence(progressOf(found)));
      await nextLook(transition);
    }
  }

  /** Resolves when the installation is gone. Volumes stay, unless the operator of Millrace wants them deleted. */
  async remove(service: Service, transition: Transition): Promise<void> {
    if (service.runtime !== "kubernetes") return;
    requireOurOperator(service);
    const name = installationName(service.id);
    for (;;) {
      const found = await this.#ask(transition, (api) => api.read(name));
      if (found === undefined) return;
      const isAsked = found.metadata.deletionTimestamp !== undefined;
      if (isAsked) await transition.report("Waits until the ClickHouse operator has deleted the pods.");
      else await this.#ask(transition, (api) => api.remove(name));
      await nextLook(transition);
    }
  }

  /** Why services have one replica; undefined: they may have more. */
  get whyOneReplica(): string | undefined {
    if (clusterOf(this.#options.settings) !== undefined) return undefined;
    return "more replicas need ClickHouse Keeper, which --kubernetes-keeper names";
  }

  /** Has the API server judge a service before it is stored. Throws KUBERNETES_*. */
  async check(service: Omit<Wanted, "ownPasswordSha256">): Promise<void> {
    const { api, settings } = this.#options;
    await api.apply(installationOf({ ...service, ownPasswordSha256: sha256Hex("") }, "no", settings), true);
  }

  async #installation(service: Service, password: string, stop: "yes" | "no"): Promise<Installation> {
    const users = await this.#options.services.listUsers(service.id);
    const wanted = { ...service, users, ownPasswordSha256: sha256Hex(password) };
    return installationOf(wanted, stop, this.#options.settings);
  }

  async #apply(wanted: Installation): Promise<void> {
    const { api } = this.#options;
    const found = await api.read(wanted.metadata.name);
    const written = renewed(wanted, found);
    // Whoever was suspended since the look, and has lost the service to another process, must not win.
    const resourceVersion = found?.metadata.resourceVersion;
    const metadata = { ...written.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    await api.apply({ ...written, metadata });
  }

  #find(serviceId: string): Promise<Installation | undefined> {
    return this.#options.api.read(installationName(serviceId));
  }

  async #read({ id }: Service): Promise<Installation> {
    const found = await this.#find(id);
    if (found === undefined) throw new AppError("KUBERNETES_REFUSED", "Somebody has deleted the service's object.");
    return found;
  }

  /** A request that waits for an API server that is away. */
  #ask<T>(transition: Transition, request: (api: KubernetesApi) => Promise<T>): Promise<T> {
    return this.#patient(transition, () => abortable(request(this.#options.api), transition.signal));
  }

  /** Repeats the work while the API server is away, until `meanwhile` has something in place of its result. */
  async #patient<T>(
    transition: Transition,
    work: () => Promise<T>,
    meanwhile: (why: AppError) => Promise<T | undefined> = async () => undefined,
  ): Promise<T> {
    for (;;) {
      transition.signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (!isAway(error)) throw error;
        const instead = await meanwhile(error);
        if (instead !== undefined) return instead;
        await transition.report(error.message);
      }
      await nextLook(transition);
    }
  }

  /**
   * Connects to the stored hosts, which need no API server to answer. What was asked for meanwhile is written by the
   * start that follows when the API server is back. Undefined when none of them answers.
   */
  async #connectWithoutCluster(service: Service, why: AppError): Promise<RunningEngine | undefined> {
    const { managedConnection: stored } = service;
    if (stored === null) return undefined;
    const isBack = lookedUp(async () => ({ answer: await this.#hasJudged(service), isFinal: false }));
    try {
      const engine = await this.connect(service);
      const isCurrent = async (now: Service) => (await engine.isCurrent(now)) && !isBack();
      return { ...engine, managedConnection: stored, note: why.message, isCurrent };
    } catch (error) {
      if (error instanceof AppError && error.code === "CONNECTION_UNREACHABLE") return undefined;
      throw error;
    }
  }

  /** True when the API server accepts or refuses what would be written. */
  async #hasJudged(service: Service): Promise<boolean> {
    return await this.check({ ...service, users: [] }).then(
      () => true,
      (error) => !isAway(error),
    );
  }

  /** Returns why no host answers. */
  async #tryToConnect(
    service: Service,
    hosts: readonly string[],
    password: string,
    started: Installation,
  ): Promise<RunningEngine | AppError> {
    const { settings, logger } = this.#options;
    const content = installationDigest(started);
    const haveHostsChanged = hostChanges(hosts, async () => {
      const found = await this.#find(service.id);
      if (found === undefined) return undefined;
      return { hosts: hostsOf(found), isComplete: phaseOf(found) === "completed" };
    });
    const isCurrent = async (now: Service) =>
      installationDigest(await this.#installation(now, password, "no")) === content && !haveHostsChanged();
    const connection = managedConnection(hosts, clusterOf(settings));
    try {
      const engine = await connectEngine(managedAddresses(connection, password), { isCurrent, logger });
      return { ...engine, managedConnection: connection };
    } catch (error) {
      if (error instanceof AppError && error.code === "CONNECTION_UNREACHABLE") return error;
      throw error;
    }
  }

  async #whyNot(found: Installation, failure: AppError | undefined): Promise<string> {
    const trouble = podTrouble(await this.#options.api.pods(found.metadata.name).catch(() => []));
    const progress = progressOf(found);
    if (trouble !== undefined) return sentence(`${progress}; ${trouble}`);
    return failure === undefined ? sentence(progress) : sentence(`${progress}; ${failure.message.replace(/\.$/, "")}`);
  }
}

/** Hosts and ports of the HTTP interface, as far as they are known. */
function hostsOf({ status }: Installation): readonly string[] {
  return status?.fqdns ?? [];
}

/** A process without access to a cluster connects to what others run there, and can start nothing. */
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

function isAway(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "KUBERNETES_UNREACHABLE";
}

async function nextLook({ signal }: Transition): Promise<void> {
  await sleep(lookMs, signal);
  signal.throwIfAborted();
}

function sentence(clause: string): string {
  return withoutHashes(`${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`);
}
