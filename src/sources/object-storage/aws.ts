/** Credentials for stores and queues of the S3 kind, and what their errors mean. */
import { AppError } from "../../lib/errors.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { escapeParameter } from "./store.ts";

export type Keys = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
};

/** A key pair, a role to assume, this machine's own credentials (IAM_ROLE without a role), or none. */
export type Access = "public" | "key" | "role" | "machine";

export function accessOf(config: ObjectStorageConfig): Access {
  if (config.accessKey !== undefined) return "key";
  if (config.iamRole !== undefined) return "role";
  return config.authentication === "IAM_ROLE" ? "machine" : "public";
}

/** Assumed roles are renewed this long before they end: longer than a large object takes to load. */
const renewBeforeMs = 20 * 60_000;

/** Returns keys that are valid now and for a while; undefined for public access. Throws AppError SOURCE_UNAUTHORIZED. */
export function keyProvider(config: ObjectStorageConfig, region: string): () => Promise<Keys | undefined> {
  const access = accessOf(config);
  if (access === "public") return async () => undefined;
  const { accessKey } = config;
  if (accessKey !== undefined) {
    const keys = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
    return async () => keys;
  }
  const fetchKeys = access === "role" ? () => assumeRole(config.iamRole ?? "", region) : machineKeys;
  let known: Keys | undefined;
  return async () => {
    const fresh = known?.expiration === undefined || known.expiration.getTime() - Date.now() > renewBeforeMs;
    if (known === undefined || !fresh) known = await fetchKeys().catch(refuse);
    return known;
  };
}

/** The usual chain: environment, files, web identity, container and instance roles. */
async function machineKeys(): Promise<Keys> {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  return await defaultProvider()();
}

async function assumeRole(roleArn: string, region: string): Promise<Keys> {
  const { AssumeRoleCommand, STSClient } = await import("@aws-sdk/client-sts");
  const client = new STSClient({ region, maxAttempts: 2 });
  try {
    const command = new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: "millrace", DurationSeconds: 3600 });
    const { Credentials: given } = await client.send(command);
    if (given?.AccessKeyId === undefined || given.SecretAccessKey === undefined)
      throw new Error("no credentials given");
    return {
      accessKeyId: given.AccessKeyId,
      secretAccessKey: given.SecretAccessKey,
      ...(given.SessionToken === undefined ? {} : { sessionToken: given.SessionToken }),
      ...(given.Expiration === undefined ? {} : { expiration: given.Expiration }),
    };
  } finally {
    client.destroy();
  }
}

function refuse(cause: unknown): never {
  const name = cause instanceof Error ? cause.name : "no answer";
  throw new AppError("SOURCE_UNAUTHORIZED", `No credentials for the object store: ${name}.`, { cause });
}

/** Bound parameters of `s3()`; only what `signing` in load.ts names. */
export function s3Params(keys: Keys | undefined): Record<string, string> {
  if (keys === undefined) return {};
  return {
    access_key_id: escapeParameter(keys.accessKeyId),
    secret_key: escapeParameter(keys.secretAccessKey),
    ...(keys.sessionToken === undefined ? {} : { session_token: escapeParameter(keys.sessionToken) }),
  };
}

type ServiceError = { name?: string; code?: string; $metadata?: { httpStatusCode?: number } };

/** Says what is wrong with `what` (a bucket or queue) at `where`. */
export function asSourceError(cause: unknown, what: string, where: string): AppError {
  if (cause instanceof AppError) return cause;
  const { name, code, $metadata } = cause as ServiceError;
  const status = $metadata?.httpStatusCode;
  if (name === "NoSuchBucket" || name === "QueueDoesNotExist") {
    return new AppError("SOURCE_INVALID", `The ${what} does not exist at ${where}.`, { cause });
  }
  if (status === 401 || status === 403) {
    return new AppError("SOURCE_UNAUTHORIZED", `Unable to access the ${what}: ${name ?? "access denied"}.`, { cause });
  }
  const reason = code === "ENOTFOUND" ? "no such host" : (code ?? name ?? "no answer");
  return new AppError("SOURCE_UNREACHABLE", `The ${what} at ${where} cannot be reached: ${reason}.`, { cause });
}
