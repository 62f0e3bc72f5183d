/**
 * The requests to the API server of Kubernetes. Objects are written by server-side apply with one field manager, so
 * that two writers of the same content change nothing. The client library is loaded with the first request.
 */
import type { KubernetesObject, KubernetesObjectApi } from "@kubernetes/client-node";
import { abortable } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import { isAbsent, kubernetesFailure } from "./failure.ts";
import { type Installation, installationKind } from "./objects.ts";
import type { Pod } from "./pods.ts";

const fieldManager = "millrace";
const timeoutMs = 10_000;

export type ApiOptions = {
  readonly namespace: string;
  /** A kubeconfig file; default: the service account of the pod, or what kubectl would use. */
  readonly configFile: string | undefined;
};

type Opened = { readonly client: KubernetesObjectApi; readonly url: string };

export class KubernetesApi {
  readonly #namespace: string;
  readonly #configFile: string | undefined;
  #opened: Promise<Opened> | undefined;

  constructor({ namespace, configFile }: ApiOptions) {
    this.#namespace = namespace;
    this.#configFile = configFile;
  }

  /**
   * Writes the installation as a whole. With `isTrial` the API server only says whether it would accept it. Throws
   * KUBERNETES_REFUSED with the members that are wrong, and KUBERNETES_UNREACHABLE.
   */
  async apply(installation: Installation, isTrial = false): Promise<Installation> {
    return await this.#ask(`write ${nameOf(installation)}`, async ({ client }) => {
      const { PatchStrategy } = await import("@kubernetes/client-node");
      const dryRun = isTrial ? "All" : undefined;
      const written = structuredClone(installation) as KubernetesObject;
      const strategy = PatchStrategy.ServerSideApply;
      return (await client.patch(written, undefined, dryRun, fieldManager, true, strategy)) as Installation;
    });
  }

  /** Undefined when it does not exist. Throws KUBERNETES_*. */
  async read(name: string): Promise<Installation | undefined> {
    return await this.#ask(`read ${name}`, async ({ client }) => {
      try {
        return (await client.read(this.#named(name))) as Installation;
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
    });
  }

  /** Asks for its deletion, which ends when `read` finds nothing. Throws KUBERNETES_*. */
  async remove(name: string): Promise<void> {
    await this.#ask(`delete ${name}`, async ({ client }) => {
      try {
        await client.delete(this.#named(name));
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    });
  }

  /** The pods of an installation. Throws KUBERNETES_*. */
  async pods(name: string): Promise<readonly Pod[]> {
    const selector = `clickhouse.altinity.com/chi=${name}`;
    return await this.#ask(`list the pods ${selector}`, async ({ client }) => {
      const none = undefined;
      const listed = await client.list("v1", "Pod", this.#namespace, none, none, none, none, selector, 50);
      return listed.items as readonly Pod[];
    });
  }

  #named(name: string) {
    return { ...installationKind, metadata: { name, namespace: this.#namespace } };
  }

  async #ask<T>(what: string, work: (opened: Opened) => Promise<T>): Promise<T> {
    let url = "the address of the kubeconfig";
    try {
      this.#opened ??= openClient(this.#configFile);
      const opened = await this.#opened;
      url = opened.url;
      return await abortable(work(opened), AbortSignal.timeout(timeoutMs));
    } catch (error) {
      // Credentials and the address are read again.
      this.#opened = undefined;
      throw kubernetesFailure(error, url, what);
    }
  }
}

function nameOf({ kind, metadata }: Installation): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** What the client library falls back to. */
const addressWithoutConfig = "http://localhost:8080";

async function openClient(configFile: string | undefined): Promise<Opened> {
  const { KubeConfig, KubernetesObjectApi: Client } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (configFile === undefined) config.loadFromDefault();
    else config.loadFromFile(configFile);
  } catch (cause) {
    throw unusable("cannot be read", cause);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw unusable("has no current context that names a cluster");
  const { server: url, skipTLSVerify } = cluster;
  if (url.startsWith("http:") && skipTLSVerify !== true) {
    if (configFile === undefined && url === addressWithoutConfig) throw unusable("was not found");
    throw unusable(`would send credentials in the clear to ${url}; write https, or insecure-skip-tls-verify: true`);
  }
  return { client: Client.makeApiClient(config), url };
}

function unusable(why: string, cause?: unknown): AppError {
  const message = `The kubeconfig of Millrace ${why}; check --kubernetes-config.`;
  return new AppError("KUBERNETES_REFUSED", message, { cause });
}
