/**
 * The requests to the API server of Kubernetes. Objects are written by server-side apply with one field manager, so
 * that two writers of the same content change nothing. The client library is loaded with the first request.
 */
import type { KubernetesObject, KubernetesObjectApi } from "@kubernetes/client-node";
import { abortable } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import { isAbsent, kubernetesFailure } from "./failure.ts";
import type { ManagedObject, Resource } from "./objects.ts";
import type { Pod } from "./pods.ts";

const fieldManager = "millrace";
const timeoutMs = 10_000;

export type ApiOptions = {
  readonly namespace: string;
  /** A kubeconfig file; default: the service account of the pod, or what kubectl would use. */
  readonly configFile: string | undefined;
  /** What is to be installed where the cluster does not know a resource. */
  readonly product: string;
};

type Opened = { readonly client: KubernetesObjectApi; readonly url: string };

export class KubernetesApi {
  readonly #namespace: string;
  readonly #configFile: string | undefined;
  readonly #product: string;
  #opened: Promise<Opened> | undefined;

  constructor({ namespace, configFile, product }: ApiOptions) {
    this.#namespace = namespace;
    this.#configFile = configFile;
    this.#product = product;
  }

  /**
   * Writes the object as a whole. With `isTrial` the API server only says whether it would accept it. Throws
   * KUBERNETES_REFUSED with the members that are wrong, and KUBERNETES_UNREACHABLE.
   */
  async apply(object: ManagedObject, isTrial = false): Promise<ManagedObject> {
    return await this.#ask(`write ${nameOf(object)}`, async ({ client }) => {
      const { PatchStrategy } = await import("@kubernetes/client-node");
      const dryRun = isTrial ? "All" : undefined;
      const written = structuredClone(object) as KubernetesObject;
      const strategy = PatchStrategy.ServerSideApply;
      return (await client.patch(written, undefined, dryRun, fieldManager, true, strategy)) as ManagedObject;
    });
  }

  /** Undefined when it does not exist. Throws KUBERNETES_*. */
  async read({ apiVersion, kind }: Resource, name: string): Promise<ManagedObject | undefined> {
    return await this.#ask(`read ${name}`, async ({ client }) => {
      try {
        const metadata = { name, namespace: this.#namespace };
        return (await client.read({ apiVersion, kind, metadata })) as ManagedObject;
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
    });
  }

  /** Asks for its deletion, which ends when `read` finds nothing. Throws KUBERNETES_*. */
  async remove({ apiVersion, kind }: Resource, name: string): Promise<void> {
    await this.#ask(`delete ${name}`, async ({ client }) => {
      try {
        await client.delete({ apiVersion, kind, metadata: { name, namespace: this.#namespace } });
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    });
  }

  /** Throws KUBERNETES_*. */
  async pods(selector: string): Promise<readonly Pod[]> {
    return await this.#ask(`list the pods ${selector}`, async ({ client }) => {
      const none = undefined;
      const listed = await client.list("v1", "Pod", this.#namespace, none, none, none, none, selector, 50);
      return listed.items as readonly Pod[];
    });
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
      throw kubernetesFailure(error, url, what, this.#product);
    }
  }
}

function nameOf({ kind, metadata }: ManagedObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

async function openClient(configFile: string | undefined): Promise<Opened> {
  const { KubeConfig, KubernetesObjectApi: Client } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (configFile === undefined) config.loadFromDefault();
    else config.loadFromFile(configFile);
  } catch (cause) {
    const message = "The kubeconfig of Millrace cannot be read; check --kubernetes-config.";
    throw new AppError("KUBERNETES_REFUSED", message, { cause });
  }
  return { client: Client.makeApiClient(config), url: config.getCurrentCluster()?.server ?? "" };
}
