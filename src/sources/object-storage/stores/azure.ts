/**
 * Azure Blob Storage through its SDK. The engine reads the blobs from our bridge: its own client for Azure bypasses the
 * proxy of outgoing connections, and in this way never learns the account's key.
 */
import type { Readable } from "node:stream";
import {
  type BlobItem,
  BlobServiceClient,
  type ContainerClient,
  type ContainerListBlobsOptions,
  type StoragePipelineOptions,
} from "@azure/storage-blob";
import { Dialer } from "../../../outgoing/dialer.ts";
import { agentsOf } from "../../../outgoing/http.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import type { AzureLocation } from "./location.ts";
import {
  type ByteRange,
  bareEtag,
  type FolderPage,
  type FolderStore,
  type ListPage,
  type ObjectFile,
  wholeSize,
} from "./store.ts";
import { invalidMember, storeError } from "./store-error.ts";

const pageSize = 1000;

export class AzureStore implements FolderStore {
  readonly #location: AzureLocation;
  readonly #container: ContainerClient;
  #refusesStart = false;

  constructor(location: AzureLocation, config: ObjectStorageConfig, network: NetworkContext) {
    this.#location = location;
    try {
      this.#container = clientOf(config.connectionString ?? "", network).getContainerClient(location.container);
    } catch (error) {
      const key = "begin with DefaultEndpointsProtocol and have AccountName and AccountKey";
      const message = `The connection string must ${key}, or have BlobEndpoint and SharedAccessSignature.`;
      throw invalidMember("connectionString", message, error);
    }
  }

  /**
   * Starts at the key, where the service supports `startfrom` (version 2026-02-06). Otherwise pages up to the key are
   * read and dropped: one request per 5000 older blobs.
   */
  async list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ListPage> {
    try {
      if (after === undefined || !after.startsWith(prefix) || this.#refusesStart) {
        return await this.#page({ prefix, abortSignal: signal }, after, after === undefined ? pageSize : 5 * pageSize);
      }
      try {
        // The result contains the key itself.
        return await this.#page({ prefix, abortSignal: signal, startFrom: after }, after, pageSize + 1);
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode !== 400) throw error;
        this.#refusesStart = true;
        return await this.list(prefix, after, signal);
      }
    } catch (error) {
      throw this.#listError(error, signal);
    }
  }

  async folder(prefix: string, token: string | undefined, limit: number, signal: AbortSignal): Promise<FolderPage> {
    const pages = this.#container
      .listBlobsByHierarchy("/", { prefix, abortSignal: signal })
      .byPage({ maxPageSize: limit, ...(token === undefined ? {} : { continuationToken: token }) });
    try {
      const page = await pages.next();
      if (page.done === true) return { prefixes: [], files: [], token: undefined };
      const { segment, continuationToken } = page.value;
      const prefixes = (segment.blobPrefixes ?? []).map(({ name }) => name);
      return { prefixes, files: segment.blobItems.map(fileOf), token: continuationToken || undefined };
    } catch (error) {
      throw this.#listError(error, signal);
    }
  }

  #listError(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return error;
    return storeError(error, {
      name: `Container ${this.#location.container}`,
      expected: "an object store",
      address: new URL(this.#container.url).origin,
      members: { name: "azureContainerName", address: "connectionString", login: "connectionString" },
    });
  }

  /** The first thousand blobs after the key. */
  async #page(options: ContainerListBlobsOptions, after: string | undefined, maxPageSize: number) {
    const files: ObjectFile[] = [];
    for await (const page of this.#container.listBlobsFlat(options).byPage({ maxPageSize })) {
      for (const blob of page.segment.blobItems) {
        if (after !== undefined && Buffer.compare(Buffer.from(blob.name), Buffer.from(after)) <= 0) continue;
        files.push(fileOf(blob));
      }
      const more = page.continuationToken !== undefined && page.continuationToken !== "";
      if (files.length >= pageSize || !more) return { files, more, last: files.at(-1)?.key };
    }
    return { files, more: false, last: files.at(-1)?.key };
  }

  pathOf(key: string): string {
    return `${this.#location.container}/${key}`;
  }

  async head(key: string, signal: AbortSignal) {
    const blob = this.#container.getBlobClient(key);
    const { etag, lastModified, contentLength = 0 } = await blob.getProperties({ abortSignal: signal });
    return { etag: bareEtag(etag), modified: lastModified ?? new Date(0), size: contentLength };
  }

  async download(key: string, etag: string | undefined, signal: AbortSignal, range?: ByteRange) {
    const conditions = etag === undefined ? {} : { ifMatch: `"${etag}"` };
    const { start = 0, end } = range ?? {};
    const count = end === undefined ? undefined : end - start + 1;
    const blob = this.#container.getBlobClient(key);
    const answer = await blob.download(start, count, { abortSignal: signal, conditions });
    const size = wholeSize(answer.contentRange, answer.contentLength);
    const body = answer.readableStreamBody as Readable;
    return { etag: bareEtag(answer.etag), modified: answer.lastModified ?? new Date(0), size, body };
  }

  close(): void {}
}

function fileOf({ name, properties }: Pick<BlobItem, "name" | "properties">): ObjectFile {
  return { key: name, etag: bareEtag(properties.etag), size: properties.contentLength ?? 0 };
}

/** An agent of our own also prevents the client from using a proxy of the connection string or the environment. */
function clientOf(connectionString: string, network: NetworkContext): BlobServiceClient {
  const agents = agentsOf(new Dialer(network.policy, "source.objectStorage.connectionString"));
  const isTls = BlobServiceClient.fromConnectionString(connectionString).url.startsWith("https:");
  const options = {
    retryOptions: { maxTries: 3, tryTimeoutInMs: 20_000 },
    // The client passes these to its pipeline, without declaring them.
    agent: isTls ? agents.https : agents.http,
    redirectOptions: { maxRetries: 0 },
  };
  return BlobServiceClient.fromConnectionString(connectionString, options as StoragePipelineOptions);
}
