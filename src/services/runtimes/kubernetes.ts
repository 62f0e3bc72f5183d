/**
 * The runtime of services in a Kubernetes cluster. A service is one `ClickHouseInstallation`; its operator makes pods,
 * volumes and addresses. Starting writes it with `stop: no` and connects to the first host that answers; stopping
 * writes `stop: yes`, which keeps the volumes. The end of this program changes nothing in the cluster.
 */
import { randomBytes } from "node:crypto";
import { abortable, sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { sha256Hex } from "../../store/secrets.ts";
import type { ConnectionPasswords } from "../../store/service-connections.ts";
import type { Service, ServiceStore } from "../../store/services.ts";
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
import {
  type InstallationSettings,
  installationDigest,
  installationName,
  installationOf,
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
   * installation; an API server that is away, and pods that do not start, are reported and waited for.
   */
  async start(service: Service, transition: Transition): Promise<RunningEngine> {
    const password = this.#options.passwords.open(service);
    const wanted = await this.#installation(service, password, "no");
    await this.#apply(wanted, transition);
    for (;;) {
      const found = await this.#read(wanted, transition);
      if (phaseOf(found) === "aborted") throw new AppError("KUBERNETES_REFUSED", sentence(progressOf(found)));
      const hosts = found.status?.fqdns ?? [];
      const failure = hosts.length === 0 ? undefined : await this.#tryToConnect(hosts, password, wanted);
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
    const wanted = await this.#installation(service, this.#options.passwords.open(service), "yes");
    // What does not exist has nothing to stop.
    if ((await this.#patient(transition, (api) => api.read(wanted.metadata.name))) === undefined) return;
    await this.#apply(wanted, transition);
    for (;;) {
      const found = await this.#read(wanted, transition);
      if (phaseOf(found) === "completed") return;
      await transition.report(sentence(progressOf(found)));
      await nextLook(transition);
    }
  }

  /** Resolves when the installation is gone. Volumes stay, unless the operator of Millrace wants them deleted. */
  async remove({ id, runtime }: Service, transition: Transition): Promise<void> {
    if (runtime !== "kubernetes") return;
    const name = installationName(id);
    for (;;) {
      const found = await this.#patient(transition, (api) => api.read(name));
      if (found === undefined) return;
      if (found.metadata.deletionTimestamp === undefined) await this.#patient(transition, (api) => api.remove(name));
      else await transition.report("Waits until the ClickHouse operator has deleted the pods.");
      await nextLook(transition);
    }
  }

  /** Without it, services have one replica. */
  get hasKeeper(): boolean {
    return this.#options.settings.keeper.length > 0;
  }

  /** Has the API server judge a service before it is stored. Throws KUBERNETES_*. */
  async check(service: Omit<Wanted, "ownPasswordSha256">): Promise<void> {
    const wanted = { ...service, ownPasswordSha256: sha256Hex("") };
    await this.#options.api.apply(installationOf(wanted, "no", this.#options.settings), true);
  }

  async #installation(service: Service, password: string, stop: "yes" | "no"): Promise<Installation> {
    const users = await this.#options.services.listUsers(service.id);
    const wanted = { ...service, users, ownPasswordSha256: sha256Hex(password) };
    return installationOf(wanted, stop, this.#options.settings);
  }

  /** Written again with the same content, it keeps its task and its generation. */
  async #apply(wanted: Installation, transition: Transition): Promise<void> {
    const content = installationDigest(wanted);
    await this.#patient(transition, async (api) => {
      const found = await api.read(wanted.metadata.name);
      const before = found?.spec.taskID;
      const taskID = before?.startsWith(`${content}-`) ? before : `${content}-${randomBytes(4).toString("hex")}`;
      // Whoever was suspended since the look, and has lost the service to another process, must not win.
      const resourceVersion = found?.metadata.resourceVersion;
      const metadata = { ...wanted.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      await api.apply({ ...wanted, metadata, spec: { taskID, ...wanted.spec } });
    });
  }

  async #read(wanted: Installation, transition: Transition): Promise<Installation> {
    const found = await this.#patient(transition, (api) => api.read(wanted.metadata.name));
    if (found === undefined)
      throw new AppError("KUBERNETES_REFUSED", "Somebody has deleted the ClickHouseInstallation.");
    return found;
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
    hosts: readonly string[],
    password: string,
    started: Installation,
  ): Promise<RunningEngine | AppError> {
    const content = installationDigest(started);
    const haveHostsChanged = hostChanges(hosts, () => this.#options.api.read(started.metadata.name));
    const isCurrent = async (now: Service) =>
      installationDigest(await this.#installation(now, password, "no")) === content && !haveHostsChanged();
    const connection = managedConnection(hosts, this.#options.settings);
    try {
      const { logger } = this.#options;
      const engine = await connectEngine(managedAddresses(connection, password), { isCurrent, logger });
      return { ...engine, managedConnection: connection };
    } catch (error) {
      if (error instanceof AppError && error.code === "CONNECTION_UNREACHABLE") return error;
      throw error;
    }
  }

  async #whyNot(found: Installation, failure: AppError | undefined): Promise<string> {
    const pods = await this.#options.api.pods(found.metadata.name).catch(() => []);
    const trouble = podTrouble(pods);
    const progress = progressOf(found);
    if (trouble !== undefined) return sentence(`${progress}; ${trouble}`);
    return failure === undefined ? sentence(progress) : sentence(`${progress}; ${failure.message.replace(/\.$/, "")}`);
  }
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
