/** Azure Blob containers, by connection string. */
import { ContainerClient, type ContainerListBlobsOptions, type RestError } from "@azure/storage-blob";
import { AppError } from "../../lib/errors.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { AzureLocation } from "./location.ts";
import { bareEtag, escapeParameter, type ObjectStore, type StoredObject } from "./store.ts";

export function openAzureStore(config: ObjectStorageConfig, location: AzureLocation): ObjectStore {
  const connection = config.connectionString ?? "";
  const client = openContainer(connection, location.container);
  const fail = (error: unknown): never => {
    throw asSourceError(error, location);
  };
  return {
    page: async ({ after, cursor, pageSize }, signal) => {
      const options: ContainerListBlobsOptions = {
        prefix: location.prefix,
        abortSignal: signal,
        ...(after === undefined ? {} : { startFrom: after }),
      };
      const pages = client
        .listBlobsFlat(options)
        .byPage({ maxPageSize: pageSize ?? 1000, ...(cursor === undefined ? {} : { continuationToken: cursor }) });
      const { value } = await pages.next().catch((error: unknown) => fail(error));
      const blobs = (value?.segment.blobItems ?? []) as { name: string; properties: BlobFacts }[];
      return {
        objects: blobs
          .map(({ name, properties }) => ({
            key: name,
            etag: bareEtag(properties.etag),
            size: properties.contentLength ?? 0,
          }))
          // `startFrom` names the first key, and stores that do not know it begin at the start.
          .filter(({ key, size }) => (after === undefined || isAfter(key, after)) && !key.endsWith("/") && size > 0),
        last: blobs.at(-1)?.name,
        cursor: value?.continuationToken === "" ? undefined : value?.continuationToken,
      };
    },
    head: async (key, signal): Promise<StoredObject | undefined> => {
      try {
        const facts = await client.getBlobClient(key).getProperties({ abortSignal: signal });
        return { key, etag: bareEtag(facts.etag), size: facts.contentLength ?? 0 };
      } catch (error) {
        if ((error as RestError).statusCode === 404) return undefined;
        return fail(error);
      }
    },
    readParams: async () => ({ connection_string: escapeParameter(connection) }),
    close: () => {},
  };
}

type BlobFacts = { readonly etag?: string; readonly contentLength?: number };

function isAfter(key: string, after: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0;
}

function openContainer(connection: string, container: string): ContainerClient {
  try {
    return new ContainerClient(connection, container, { retryOptions: { maxTries: 2, tryTimeoutInMs: 10_000 } });
  } catch (cause) {
    throw new AppError("SOURCE_INVALID", "connectionString is not an Azure storage connection string.", { cause });
  }
}

function asSourceError(cause: unknown, { container }: AzureLocation): AppError {
  const { statusCode, code } = cause as RestError;
  if (code === "ContainerNotFound") {
    return new AppError("SOURCE_INVALID", `The container ${container} does not exist.`, { cause });
  }
  if (statusCode === 401 || statusCode === 403) {
    const message = `Unable to access the container ${container}: ${code ?? "access denied"}.`;
    return new AppError("SOURCE_UNAUTHORIZED", message, { cause });
  }
  const message = `The container ${container} cannot be reached: ${code ?? "no answer"}.`;
  return new AppError("SOURCE_UNREACHABLE", message, { cause });
}
