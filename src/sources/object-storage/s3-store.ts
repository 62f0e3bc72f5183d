/** Stores that speak the S3 protocol: Amazon, Google's XML interface with HMAC keys, and everything compatible. */
import { HeadObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { asSourceError, keyProvider, s3Params } from "./aws.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { S3Location } from "./location.ts";
import { bareEtag, type ObjectStore } from "./store.ts";

const requestTimeoutMs = 10_000;

export function openS3Store(config: ObjectStorageConfig, location: S3Location): ObjectStore {
  const keys = keyProvider(config, location.region);
  const client = createClient(location, keys);
  const where = location.endpoint ?? `${location.bucket}.s3.${location.region}.amazonaws.com`;
  const fail = (error: unknown): never => {
    throw asSourceError(error, `bucket ${location.bucket}`, where);
  };
  return {
    page: async ({ after, cursor, pageSize }, signal) => {
      await keys();
      const command = new ListObjectsV2Command({
        Bucket: location.bucket,
        Prefix: location.prefix,
        MaxKeys: pageSize ?? 1000,
        ...(cursor === undefined ? { StartAfter: after } : { ContinuationToken: cursor }),
      });
      const page = await client
        .send(command, { abortSignal: signal, requestTimeout: requestTimeoutMs })
        .catch((error: unknown) => fail(error));
      const contents = page.Contents ?? [];
      return {
        objects: contents
          // Some stores send the key of StartAfter itself again; "directories" are keys that end in a slash.
          .filter(({ Key, Size }) => Key !== after && !Key?.endsWith("/") && (Size ?? 0) > 0)
          .map(({ Key = "", ETag, Size = 0 }) => ({ key: Key, etag: bareEtag(ETag), size: Size })),
        last: contents.at(-1)?.Key,
        cursor: page.IsTruncated ? page.NextContinuationToken : undefined,
      };
    },
    head: async (key, signal) => {
      try {
        const command = new HeadObjectCommand({ Bucket: location.bucket, Key: key });
        const { ETag, ContentLength } = await client.send(command, {
          abortSignal: signal,
          requestTimeout: requestTimeoutMs,
        });
        return { key, etag: bareEtag(ETag), size: ContentLength ?? 0 };
      } catch (error) {
        if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 404) return undefined;
        return fail(error);
      }
    },
    readParams: async () => s3Params(await keys()),
    close: () => client.destroy(),
  };
}

function createClient(location: S3Location, keys: ReturnType<typeof keyProvider>): S3Client {
  const options = {
    region: location.region,
    forcePathStyle: location.pathStyle,
    followRegionRedirects: true,
    maxAttempts: 2,
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint }),
  };
  if (location.access === "public") {
    const credentials = { accessKeyId: "", secretAccessKey: "" };
    return new S3Client({ ...options, signer: { sign: async (request) => request }, credentials });
  }
  return new S3Client({
    ...options,
    credentials: async () => {
      const current = await keys();
      if (current === undefined) throw new Error("no credentials");
      return current;
    },
  });
}
