/**
 * The login of Amazon MSK with IAM: a URL, signed for the action "connect" and valid for fifteen minutes, is the token
 * of SASL/OAUTHBEARER. https://docs.aws.amazon.com/msk/latest/developerguide/iam-access-control.html
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { memberError } from "../../lib/errors.ts";
import type { NetworkContext } from "../contract/source.ts";
import { type AwsAccess, type AwsCredentials, credentialsOf } from "./credentials.ts";

const validSeconds = 900;

/** From a broker such as b-1.name.abcdef.c2.kafka.eu-west-1.amazonaws.com; undefined for other names. */
export function regionOfBroker(host: string): string | undefined {
  return /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/.exec(host.toLowerCase())?.[1];
}

/**
 * A fresh token for every call; brokers request another one before a session ends. The region is that of the brokers'
 * names, or else the machine's. Rejects with AppError SOURCE_* when there are no credentials or no region.
 */
export function mskTokens(access: AwsAccess, hosts: readonly string[], network: NetworkContext): () => Promise<string> {
  const named = hosts.map(regionOfBroker).find((region) => region !== undefined);
  let credentials: (() => Promise<AwsCredentials>) | undefined;
  return async () => {
    const region = named ?? (await machineRegion());
    credentials ??= credentialsOf("source.messageBroker", access, region, network);
    if (credentials === undefined)
      throw memberError("SOURCE_INVALID", "source.messageBroker.credentials", "IAM needs a key or iamRole");
    return await mskToken(region, await credentials());
  };
}

/** The signed URL as base64url. */
export async function mskToken(region: string, credentials: AwsCredentials, now = new Date()): Promise<string> {
  const { SignatureV4 } = await import("@smithy/signature-v4");
  const hostname = `kafka.${region}.amazonaws.com`;
  const signer = new SignatureV4({
    service: "kafka-cluster",
    region,
    credentials,
    sha256: Sha256,
    applyChecksum: false,
  });
  const request = {
    method: "GET",
    protocol: "https:",
    hostname,
    path: "/",
    headers: { host: hostname },
    query: { Action: "kafka-cluster:Connect" },
  };
  const { query = {} } = await signer.presign(request, { expiresIn: validSeconds, signingDate: now });
  const url = new URL(`https://${hostname}/`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  // Not signed; the brokers' logs show it.
  url.searchParams.set("User-Agent", "millrace");
  return Buffer.from(url.href).toString("base64url");
}

async function machineRegion(): Promise<string> {
  const { loadConfig, NODE_REGION_CONFIG_FILE_OPTIONS, NODE_REGION_CONFIG_OPTIONS } = await import(
    "@smithy/core/config"
  );
  try {
    return await loadConfig(NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS)();
  } catch (error) {
    const message = "the region for IAM is in no name of them (b-1.x.kafka.REGION.amazonaws.com)";
    throw memberError("SOURCE_INVALID", "source.messageBroker.brokers", message, error);
  }
}

/** SHA-256 in the form that the signer expects. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === "string") return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
