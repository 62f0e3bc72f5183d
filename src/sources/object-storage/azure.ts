/** Azure Blob Storage: listing through its SDK; the engine reads the blobs itself. */
import type { Readable } from "node:stream";
import {
  BlobServiceClient,
  type ContainerClient,
  type ContainerListBlobsOptions,
  type StoragePipelineOptions,
} from "@azure/storage-blob";
import { AppError } from "../../lib/errors.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { agentsOf } from "../../outgoing/http.ts";
import type { NetworkContext } from "../source.ts";
import { enginePattern } from "./keys.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { AzureLocation } from "./location.ts";
import { bareEtag, type ListPage, type ObjectFile, type ObjectStore, type ReadCall, storeError } from "./store.ts";

const pageSize = 1000;

export class AzureStore implements ObjectStore {
  readonly #location: AzureLocation;
  readonly #connectionString: string;
  readonly #container: ContainerClient;
  #refusesStart = false;

  constructor(location: AzureLocation, config: ObjectStorageConfig, network: NetworkContext) {
    this.#location = location;
    this.#connectionString = config.connectionString ?? "";
    try {
      this.#container = clientOf(this.#connectionString, network).getContainerClient(location.container);
    } catch (error) {
      throw new AppError("SOURCE_INVALID", "The connectionString is not valid.", { cause: error });
    }
  }

  /**
   * From the key on, where the service knows `startfrom` (version 2026-02-06). From one that does not, pages up to the
   * key are read and dropped: one request per 5000 older blobs.
   */
  async list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ListPage> {
    try {
      if (after === undefined || !after.startsWith(prefix) || this.#refusesStart) {
        return await this.#page({ prefix, abortSignal: signal }, after, after === undefined ? pageSize : 5 * pageSize);
      }
      try {
        // The key itself comes again.
        return await this.#page({ prefix, abortSignal: signal, startFrom: after }, after, pageSize + 1);
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode !== 400) throw error;
        this.#refusesStart = true;
        return await this.list(prefix, after, signal);
      }
    } catch (error) {
      if (signal.aborted) throw error;
      throw storeError(error, `Container ${this.#location.container}`, this.#container.url.split("?")[0] ?? "");
    }
  }

  /** The first thousand blobs after the key. */
  async #page(options: ContainerListBlobsOptions, after: string | undefined, maxPageSize: number) {
    const files: ObjectFile[] = [];
    for await (const page of this.#container.listBlobsFlat(options).byPage({ maxPageSize })) {
      for (const blob of page.segment.blobItems) {
        if (after !== undefined && Buffer.compare(Buffer.from(blob.name), Buffer.from(after)) <= 0) continue;
        files.push({
          key: blob.name,
          etag: bareEtag(blob.properties.etag),
          size: blob.properties.contentLength ?? 0,
        });
      }
      const more = page.continuationToken !== undefined && page.continuationToken !== "";
      if (files.length >= pageSize || !more) return { files, more, last: files.at(-1)?.key };
    }
    return { files, more: false, last: files.at(-1)?.key };
  }

  pathOf(key: string): string {
    return `${this.#location.container}/${key}`;
  }

  async reader(keys: readonly string[]): Promise<ReadCall> {
    return {
      head: "azureBlobStorage({connection_string:String}, {container:String}, {blob_path:String}, ",
      order: "compression, structure",
      params: {
        connection_string: this.#connectionString,
        container: this.#location.container,
        // Unlike a url, the path of a blob is not percent-encoded.
        blob_path: enginePattern(keys, (text) => text),
      },
    };
  }

  async head(key: string, signal: AbortSignal) {
    const { etag, lastModified } = await this.#container.getBlobClient(key).getProperties({ abortSignal: signal });
    return { etag: bareEtag(etag), modified: lastModified ?? new Date(0) };
  }

  async download(key: string, etag: string | undefined, signal: AbortSignal) {
    const conditions = etag === undefined ? {} : { ifMatch: `"${etag}"` };
    const answer = await this.#container.getBlobClient(key).download(0, undefined, { abortSignal: signal, conditions });
    const body = answer.readableStreamBody as Readable;
    return { etag: bareEtag(answer.etag), modified: answer.lastModified ?? new Date(0), body };
  }

  close(): void {}
}

/** An agent of one's own also keeps the client from using a proxy that the connection string or the environment names. */
function clientOf(connectionString: string, network: NetworkContext): BlobServiceClient {
  const agents = agentsOf(new Dialer(network.policy, "source.objectStorage.connectionString"));
  const isTls = BlobServiceClient.fromConnectionString(connectionString).url.startsWith("https:");
  const options = {
    retryOptions: { maxTries: 3, tryTimeoutInMs: 20_000 },
    // The client hands these to its pipeline, without declaring them.
    agent: isTls ? agents.https : agents.http,
    redirectOptions: { maxRetries: 0 },
  };
  return BlobServiceClient.fromConnectionString(connectionString, options as StoragePipelineOptions);
}
