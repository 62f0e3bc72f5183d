/** Listing a bucket and telling what is wrong when that fails. */
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { AppError } from "../../lib/errors.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { Location } from "./location.ts";
import type { StoredObject } from "./select.ts";

export type Listed = StoredObject & { readonly modifiedAt: number };

export function createClient(config: ObjectStorageConfig, location: Location): S3Client {
  const { accessKey } = config;
  return new S3Client({
    region: location.region,
    forcePathStyle: location.pathStyle,
    maxAttempts: 2,
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint }),
    ...(accessKey === undefined
      ? { signer: { sign: async (request) => request }, credentials: { accessKeyId: "", secretAccessKey: "" } }
      : { credentials: { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey } }),
  });
}

/** The objects below the prefix in key order, page by page, after the given key. Throws AppError SOURCE_*. */
export async function* listObjects(
  client: S3Client,
  location: Location,
  options: { startAfter?: string | undefined; pageSize?: number; signal: AbortSignal },
): AsyncGenerator<Listed[]> {
  let token: string | undefined;
  do {
    const command = new ListObjectsV2Command({
      Bucket: location.bucket,
      Prefix: location.prefix,
      MaxKeys: options.pageSize ?? 1000,
      ...(token === undefined ? { StartAfter: options.startAfter } : { ContinuationToken: token }),
    });
    const page = await client
      .send(command, { abortSignal: options.signal, requestTimeout: 10_000 })
      .catch((error: unknown) => {
        throw asSourceError(error, location);
      });
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
    yield (page.Contents ?? [])
      // Some stores send the key of StartAfter itself again; "directories" are keys that end in a slash.
      .filter((object) => object.Key !== options.startAfter && !object.Key?.endsWith("/"))
      .map((object) => ({
        key: object.Key ?? "",
        etag: object.ETag ?? "",
        size: object.Size ?? 0,
        modifiedAt: object.LastModified?.getTime() ?? 0,
      }));
  } while (token !== undefined);
}

type ServiceError = { name?: string; code?: string; $metadata?: { httpStatusCode?: number } };

function asSourceError(cause: unknown, location: Location): AppError {
  const { name, code, $metadata } = cause as ServiceError;
  const status = $metadata?.httpStatusCode;
  const where = location.endpoint ?? `${location.bucket}.s3.${location.region}.amazonaws.com`;
  if (name === "NoSuchBucket") {
    return new AppError("SOURCE_INVALID", `The bucket ${location.bucket} does not exist at ${where}.`, { cause });
  }
  if (status === 401 || status === 403) {
    const message = `Unable to access the bucket ${location.bucket}: ${name ?? "access denied"}.`;
    return new AppError("SOURCE_UNAUTHORIZED", message, { cause });
  }
  const reason = code === "ENOTFOUND" ? "no such host" : (code ?? name ?? "no answer");
  return new AppError("SOURCE_UNREACHABLE", `The object store at ${where} cannot be reached: ${reason}.`, { cause });
}
