/**
 * Backups in an S3-compatible bucket. Files are uploaded in parts, each with a checksum that the server verifies;
 * credentials are the configured key or the SDK's own chain, and never part of an engine statement.
 */
import { open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { S3, S3ServiceException } from "@aws-sdk/client-s3";
import type { BackupLocation } from "../../store/backups/backups.ts";
import { type BackupStorage, MissingFile, type StoredFile } from "./storage.ts";

export type S3Keys = { readonly accessKeyId: string; readonly secretAccessKey: string };

/** Below the smallest request limit seen among S3-compatible servers, above the minimum part size of 5 MiB. */
const partBytes = 8 * 2 ** 20;
const maxParts = 10_000;

type S3Location = BackupLocation & { readonly kind: "s3" };

export class S3Storage implements BackupStorage {
  readonly location: S3Location;
  readonly #keys: S3Keys | undefined;
  #opened: Promise<S3> | undefined;

  constructor(location: S3Location, keys: S3Keys | undefined) {
    this.location = location;
    this.#keys = keys;
  }

  /** The SDK is read when the bucket is used: it would be a tenth of the start of a server. */
  async #client(): Promise<S3> {
    this.#opened ??= openClient(this.location, this.#keys);
    return await this.#opened;
  }

  async putFile(key: string, path: string, signal: AbortSignal): Promise<void> {
    const { size } = await stat(path);
    await using file = await open(path, "r");
    if (size <= partBytes) return await this.putWhole(key, await file.readFile(), signal);
    await this.#putParts(key, file, Math.max(partBytes, Math.ceil(size / maxParts)), signal);
  }

  async settle(): Promise<void> {}

  async putWhole(key: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
    const client = await this.#client();
    await client.putObject({ ...this.#target(key), Body: bytes }, { abortSignal: signal });
  }

  async read(key: string, signal: AbortSignal): Promise<Readable> {
    const client = await this.#client();
    try {
      const answer = await client.getObject(this.#target(key), { abortSignal: signal });
      return answer.Body as Readable;
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") throw new MissingFile(key);
      throw error;
    }
  }

  async list(prefix: string, signal: AbortSignal): Promise<StoredFile[]> {
    const { bucket, prefix: root } = this.location;
    const files: StoredFile[] = [];
    const client = await this.#client();
    for (let token: string | undefined, more = true; more; ) {
      const page = await client.listObjectsV2(
        { Bucket: bucket, Prefix: root + prefix, ContinuationToken: token },
        { abortSignal: signal },
      );
      for (const { Key = "", Size = 0, LastModified = new Date(0) } of page.Contents ?? []) {
        files.push({ key: Key.slice(root.length), size: Size, modifiedAt: LastModified });
      }
      token = page.NextContinuationToken;
      more = page.IsTruncated === true && token !== undefined;
    }
    return files;
  }

  async removeAll(prefix: string, signal: AbortSignal): Promise<void> {
    await this.#abortUploads(prefix, signal);
    for (const { key } of await this.list(prefix, signal)) await this.remove(key, signal);
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    const client = await this.#client();
    await client.deleteObject(this.#target(key), { abortSignal: signal });
  }

  pathOf(): undefined {
    return undefined;
  }

  #target(key: string) {
    return { Bucket: this.location.bucket, Key: this.location.prefix + key };
  }

  async #putParts(key: string, file: Awaited<ReturnType<typeof open>>, size: number, signal: AbortSignal) {
    const target = this.#target(key);
    const options = { abortSignal: signal };
    const client = await this.#client();
    const { UploadId } = await client.createMultipartUpload(target, options);
    try {
      const parts: { PartNumber: number; ETag: string | undefined }[] = [];
      const buffer = Buffer.allocUnsafe(size);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, size, parts.length * size);
        if (bytesRead === 0) break;
        const PartNumber = parts.length + 1;
        const Body = buffer.subarray(0, bytesRead);
        const { ETag } = await client.uploadPart({ ...target, UploadId, PartNumber, Body }, options);
        parts.push({ PartNumber, ETag });
      }
      const MultipartUpload = { Parts: parts };
      await client.completeMultipartUpload({ ...target, UploadId, MultipartUpload }, options);
    } catch (error) {
      await client.abortMultipartUpload({ ...target, UploadId }).catch(() => {});
      throw error;
    }
  }

  /** Parts of uploads that a killed process left cost money and appear in no listing. */
  async #abortUploads(prefix: string, signal: AbortSignal): Promise<void> {
    const { bucket, prefix: root } = this.location;
    const options = { abortSignal: signal };
    const client = await this.#client();
    const found = await client
      .listMultipartUploads({ Bucket: bucket, Prefix: root + prefix }, options)
      // Some compatible servers cannot list uploads; those expire them by a lifecycle rule.
      .catch(() => ({ Uploads: [] }));
    for (const { Key, UploadId } of found.Uploads ?? []) {
      await client.abortMultipartUpload({ Bucket: bucket, Key, UploadId }, options);
    }
  }
}

async function openClient({ bucket, region, endpoint }: S3Location, keys: S3Keys | undefined): Promise<S3> {
  const { S3 } = await import("@aws-sdk/client-s3");
  const client = new S3({
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(keys === undefined ? {} : { credentials: keys }),
    maxAttempts: 4,
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 },
  });
  // The name of the error stays: callers tell a missing file by it.
  const explain = (error: S3ServiceException) => {
    error.message = explained(error, bucket);
    throw error;
  };
  client.middlewareStack.add((next) => (args) => next(args).catch(explain), { step: "initialize" });
  return client;
}

/** With the settings that the answer speaks of: the bucket's own words name none. */
function explained({ name, message, $metadata }: S3ServiceException, bucket: string): string {
  if (name === "NoSuchBucket") return `the bucket ${bucket} does not exist; check --backup-bucket`;
  const refuses = [401, 403].includes($metadata?.httpStatusCode ?? 0);
  const keys = "--backup-access-key-id, --backup-secret-access-key and the rights of the key";
  return refuses ? `the bucket ${bucket} refuses access (${name}); check ${keys}` : message;
}
