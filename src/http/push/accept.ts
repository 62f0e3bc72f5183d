/** Accepts the rows of one request: they are durable when this returns, or nothing of them is kept. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { AppError } from "../../lib/errors.ts";
import { headProblem, typeProblem } from "../../sources/push/bodies/formats.ts";
import { type TakenIn, takeIn } from "../../sources/push/bodies/intake.ts";
import type { PushConfig } from "../../sources/push/declaration/kind.ts";
import type { Accepted, Inbox } from "../../sources/push/inbox/inbox.ts";
import type { Signal } from "../../sources/push/otlp/messages.ts";
import { requestBytes } from "./bodies.ts";
import type { SignatureCheck } from "./signatures.ts";
import { diskError } from "./space.ts";

const defaultWindowSeconds = 86_400;
const longestKey = 255;

export type Sent = {
  readonly request: IncomingMessage;
  readonly config: PushConfig;
  /** The fields of a row that the pipe reads. */
  readonly fields: () => readonly string[];
  readonly inbox: Inbox;
  readonly signature: SignatureCheck | undefined;
  /** A body may have as many after decompression. */
  readonly mostBytes: number;
};

/** Throws the errors of bodies and keys, and DISK_FULL. */
export async function accept({ request, config, fields, inbox, signature, mostBytes }: Sent) {
  const { headers } = request;
  const mediaType = mediaTypeOf(headers);
  const wrongType = typeProblem(config, mediaType);
  if (wrongType !== undefined) throw new AppError("UNSUPPORTED_MEDIA_TYPE", wrongType);
  const key = keyOf(headers, config);
  const body = await requestBytes(request, (piece) => signature?.add(piece));
  const options = { config, mediaType, folder: inbox.folder, mostBytes, digests: key !== undefined };
  try {
    const taken = await takeIn(body, options, () => signature?.end());
    const { rows, bytes } = taken;
    // A single line may be a row whose sender forgot the names.
    const wrongHead = taken.head ? headProblem(config, fields(), taken.head) : undefined;
    if (wrongHead !== undefined) {
      await taken.discard();
      throw new AppError("BAD_REQUEST", wrongHead);
    }
    if (rows === 0) return { offset: inbox.end, rows, bytes, isRepeat: false };
    return { ...(await kept({ config, inbox, taken, key, facts: { n: rows } })), bytes };
  } catch (error) {
    throw diskError(error);
  }
}

type Telemetry = {
  readonly signal: Signal;
  /** In Protobuf, checked. Released when it is durable. */
  readonly body: Buffer;
  /** SHA-256 of the body. */
  readonly digest: string;
  readonly records: number;
  readonly headers: IncomingHttpHeaders;
  readonly config: PushConfig;
  readonly inbox: Inbox;
};

/** A request of OpenTelemetry. Without a key the body is its own: senders repeat the same bytes. Throws the same. */
export async function acceptTelemetry(telemetry: Telemetry): Promise<Accepted> {
  const { signal, body, digest, records, headers, config, inbox } = telemetry;
  const { folder } = inbox;
  const intake = { config, mediaType: undefined, folder, mostBytes: body.length, digests: false };
  try {
    const taken = { ...(await takeIn([body], { ...intake, memoryBytes: telemetryMemoryBytes })), digest };
    // Empty records of two signals have the same bytes.
    const key = keyOf(headers, config) ?? `${signal} ${digest}`;
    return await kept({ config, inbox, taken, key, facts: { n: records, g: signal } });
  } catch (error) {
    throw diskError(error);
  }
}

/** A frame of the inbox may have twice as many. */
const telemetryMemoryBytes = 4 * 2 ** 20;

type Taken = {
  readonly config: PushConfig;
  readonly inbox: Inbox;
  readonly taken: TakenIn;
  readonly key: string | undefined;
  readonly facts: { readonly n: number; readonly g?: Signal };
};

async function kept({ config, inbox, taken, key, facts }: Taken): Promise<Accepted> {
  const { bytes, head, file, digest = "" } = taken;
  const { n, g } = facts;
  const all = { n, t: Date.now(), g, h: head, x: file, s: file === undefined ? undefined : bytes };
  const windowMs = (config.idempotencyWindowSeconds ?? defaultWindowSeconds) * 1_000;
  const known = key === undefined ? undefined : { key, body: digest, windowMs };
  try {
    const accepted = await inbox.append({ facts: all, body: taken.body, key: known });
    if (accepted.isRepeat) await taken.discard();
    return accepted;
  } catch (error) {
    await taken.discard();
    throw error;
  }
}

export function mediaTypeOf(headers: IncomingHttpHeaders): string | undefined {
  return headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
}

/** The digest of the request's idempotency key. GitHub names its deliveries. */
function keyOf(headers: IncomingHttpHeaders, { signature }: PushConfig): string | undefined {
  const delivery = signature?.scheme === "github" ? headers["x-github-delivery"] : undefined;
  const given = headers["idempotency-key"] ?? delivery;
  if (given === undefined) return undefined;
  const key = String(given)
    .trim()
    .replace(/^"(.*)"$/s, "$1");
  if (key === "" || key.length > longestKey) {
    throw new AppError("BAD_REQUEST", `The Idempotency-Key must have 1 to ${longestKey} characters.`);
  }
  return createHash("sha256").update(key).digest("base64url").slice(0, 22);
}
