/** S3 and compatible stores. Listing is ours; the engine reads the objects itself. */

import type { Readable } from "node:stream";
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  S3Client,
  type S3ClientConfig,
} from "@aws-sdk/client-s3";
import { AppError } from "../../../lib/errors.ts";
import { sharedAgents } from "../../../outgoing/http.ts";
import { boundedListing } from "../../aws/bounded-answers.ts";
import { type AwsCredentials, credentialsOf } from "../../aws/credentials.ts";
import { answersInTime } from "../../aws/request-handler.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { compareKeys } from "../selection/glob.ts";
import { enginePattern } from "./keys.ts";
import { engineUrl, type S3Location } from "./location.ts";
import {
  type ByteRange,
  bareEtag,
  type FolderPage,
  type FolderStore,
  type ListPage,
  type ReadCall,
  wholeSize,
} from "./store.ts";
import { loginOf, storeError } from "./store-error.ts";

export class S3Store implements FolderStore {
  readonly #location: S3Location;
  /** undefined: the bucket is public and requests are not signed. */
  readonly #credentials: (() => Promise<AwsCredentials>) | undefined;
  readonly #login: string;
  readonly #client: S3Client;
  readonly #network: NetworkContext;
  #permitted: Promise<void> | undefined;

  constructor(location: S3Location, config: ObjectStorageConfig, network: NetworkContext) {
    this.#location = location;
    this.#network = network;
    this.#login = loginOf(config);
    this.#credentials = credentialsOf("source.objectStorage", config, location.region, network);
    this.#client = new S3Client(clientConfig(location, this.#credentials, network));
  }

  async list(prefix: string, after: string | undefined, signal: AbortSignal) {
    try {
      const page = await this.#client.send(
        new ListObjectsV2Command({
          Bucket: this.#location.bucket,
          Prefix: prefix,
          ...(after === undefined ? {} : { StartAfter: after }),
        }),
        { abortSignal: signal },
      );
      this.#requireStore(page);
      const listed = page.Contents ?? [];
      const files = listed
        .map((object) => ({ key: object.Key ?? "", etag: bareEtag(object.ETag), size: object.Size ?? 0 }))
        // Some stores include the start key.
        .filter((file) => file.key !== "" && file.key !== after);
      const listing = { files, more: page.IsTruncated === true, last: files.at(-1)?.key };
      return requireListing(listing, after, `Bucket ${this.#location.bucket}`);
    } catch (error) {
      throw this.#listError(error, signal);
    }
  }

  async folder(prefix: string, token: string | undefined, limit: number, signal: AbortSignal): Promise<FolderPage> {
    const command = new ListObjectsV2Command({
      ...{ Bucket: this.#location.bucket, Prefix: prefix, Delimiter: "/", MaxKeys: limit },
      ...(token === undefined ? {} : { ContinuationToken: token }),
    });
    try {
      const page = await this.#client.send(command, { abortSignal: signal });
      this.#requireStore(page);
      const files = (page.Contents ?? []).map(({ Key = "", ETag, Size = 0 }) => ({
        ...{ key: Key, etag: bareEtag(ETag), size: Size },
      }));
      const prefixes = (page.CommonPrefixes ?? []).flatMap(({ Prefix = [] }) => Prefix);
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      // The folder itself, where a client has made it as an empty object.
      return { prefixes, files: files.filter(({ key }) => key !== prefix), token: next };
    } catch (error) {
      throw this.#listError(error, signal);
    }
  }

  /** The client takes every page of another program for a bucket without an object. */
  #requireStore({ Name, IsTruncated, Contents }: ListObjectsV2CommandOutput): void {
    if (Name !== undefined || IsTruncated !== undefined || Contents !== undefined) return;
    throw Object.assign(new Error("not a listing"), { $metadata: { httpStatusCode: 200 } });
  }

  #listError(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return error;
    return storeError(error, {
      name: `Bucket ${this.#location.bucket}`,
      expected: "an object store",
      address: this.#location.endpoint,
      members: { name: "url", address: "url", login: this.#login },
    });
  }

  async reader(keys: readonly string[], _signal?: AbortSignal, listed?: string): Promise<ReadCall> {
    this.#permitted ??= this.#permitEngine();
    await this.#permitted;
    const params: Record<string, string> = {
      object_url: engineUrl(this.#location, enginePattern(keys, encodeURIComponent, listed)),
    };
    let access = "NOSIGN";
    if (this.#credentials !== undefined) {
      const { accessKeyId, secretAccessKey, sessionToken } = await this.#credentials();
      Object.assign(params, { access_key: accessKeyId, secret_key: secretAccessKey });
      access = "{access_key:String}, {secret_key:String}";
      if (sessionToken !== undefined) {
        params.session_token = sessionToken;
        access += ", {session_token:String}";
      }
    }
    return { head: `s3({object_url:String}, ${access}, `, params };
  }

  pathOf(key: string): string {
    return `${this.#location.bucket}/${key}`;
  }

  async head(key: string, signal: AbortSignal) {
    const command = new HeadObjectCommand({ Bucket: this.#location.bucket, Key: key });
    const { ETag, LastModified, ContentLength = 0 } = await this.#client.send(command, { abortSignal: signal });
    return { etag: bareEtag(ETag), modified: LastModified ?? new Date(0), size: ContentLength };
  }

  async download(key: string, etag: string | undefined, signal: AbortSignal, range?: ByteRange) {
    const version = etag === undefined ? {} : { IfMatch: `"${etag}"` };
    const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end ?? ""}` };
    const command = new GetObjectCommand({ Bucket: this.#location.bucket, Key: key, ...version, ...part });
    const answer = await this.#client.send(command, { abortSignal: signal });
    const size = wholeSize(answer.ContentRange, answer.ContentLength);
    const modified = answer.LastModified ?? new Date(0);
    return { etag: bareEtag(answer.ETag), modified, size, body: answer.Body as Readable };
  }

  close(): void {
    this.#client.destroy();
  }

  async #permitEngine(): Promise<void> {
    const { protocol, hostname, port } = new URL(engineUrl(this.#location, ""));
    const host = hostname.replaceAll(/[[\]]/g, "");
    await this.#network.permitEngine({ host, port: Number(port || (protocol === "https:" ? 443 : 80)) });
  }
}

function clientConfig(
  location: S3Location,
  credentials: (() => Promise<AwsCredentials>) | undefined,
  network: NetworkContext,
): S3ClientConfig {
  const agents = sharedAgents(network.policy, network.organizationId, "source.objectStorage.url");
  return {
    region: location.region === "auto" ? "us-east-1" : location.region,
    endpoint: location.endpoint,
    forcePathStyle: location.pathStyle,
    followRegionRedirects: true,
    maxAttempts: 3,
    streamCollector: boundedListing,
    requestHandler: answersInTime(agents),
    ...(credentials === undefined
      ? { signer: { sign: async (request) => request }, credentials: { accessKeyId: "none", secretAccessKey: "none" } }
      : { credentials }),
  };
}

/** The limit of S3; names of Azure have as many characters. */
const maxKeyBytes = 4_096;
const maxEtagCharacters = 256;

const maxSize = Number.MAX_SAFE_INTEGER;

/** Throws SOURCE_INVALID for a listing that never ends, and for keys, ETags and sizes that no store has. */
function requireListing(page: ListPage, after: string | undefined, place: string): ListPage {
  const long = page.files.find(({ key }) => Buffer.byteLength(key) > maxKeyBytes);
  if (long !== undefined) {
    throw new AppError("SOURCE_INVALID", `${place} lists a key of more than ${maxKeyBytes} bytes.`);
  }
  const lie = page.files.find(({ etag, size }) => etag.length > maxEtagCharacters || !(size >= 0 && size <= maxSize));
  if (lie !== undefined) {
    throw new AppError("SOURCE_INVALID", `${place} lists ${lie.key} with an ETag or a size that no store has.`);
  }
  const isStuck = page.last === undefined || (after !== undefined && compareKeys(page.last, after) <= 0);
  if (page.more && isStuck) {
    const message = `${place} lists no key after the ones before and says that there are more: its listing has no end.`;
    throw new AppError("SOURCE_INVALID", message);
  }
  return page;
}
