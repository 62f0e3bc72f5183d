/** Checks the signature of a request over its body, as webhooks of others sign: HMAC-SHA256 with a shared secret. */
import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../lib/errors.ts";
import type { PushConfig } from "../../sources/push/declaration/kind.ts";

type Signature = NonNullable<PushConfig["signature"]>;

const defaultToleranceSeconds = 300;

export type SignatureCheck = {
  /** With every piece of the body as it arrives, before it is decompressed. */
  add(piece: Buffer): void;
  /** After the last one. Throws UNAUTHORIZED. */
  end(): void;
};

/** Throws UNAUTHORIZED when the request is not signed, or was signed too long ago. */
export function signatureCheck(signature: Signature, headers: IncomingHttpHeaders, now = Date.now()): SignatureCheck {
  const { given, time } = signed(signature, headers);
  if (given.length === 0) throw refused("The request is not signed as the pipe's source.push.signature says.");
  if (time !== undefined) requireRecent(time, signature.toleranceSeconds ?? defaultToleranceSeconds, now);
  const hmac = createHmac("sha256", signature.secret);
  if (time !== undefined) hmac.update(`${time}.`);
  return { add: (piece) => void hmac.update(piece), end: () => requireSame(hmac, given) };
}

/** The signatures of a request, one of which must be right, and the time that is signed with the body. */
function signed(
  signature: Signature,
  headers: IncomingHttpHeaders,
): { readonly given: string[]; readonly time?: string } {
  const header = (name: string) => String(headers[name.toLowerCase()] ?? "");
  if (signature.scheme === "github") return { given: listed(header("x-hub-signature-256"), "sha256") };
  if (signature.scheme === "stripe") {
    const parts = header("stripe-signature");
    return { given: listed(parts, "v1"), time: listed(parts, "t")[0] ?? "" };
  }
  const text = header(signature.header ?? "x-signature").trim();
  const given = text === "" ? [] : [text.replace(/^sha256=/, "")];
  return signature.timestampHeader === undefined ? { given } : { given, time: header(signature.timestampHeader) };
}

/** The values of a name in `name=value,name=value`. */
function listed(text: string, name: string): string[] {
  const pairs = text.split(",").map((part) => part.trim().split(/=(.*)/s));
  return pairs.flatMap(([key, value]) => (key === name && value !== undefined ? [value] : []));
}

function requireRecent(time: string, toleranceSeconds: number, now: number): void {
  if (!/^\d{1,12}$/.test(time)) throw refused("The signed time is missing, or is not in UNIX seconds.");
  if (Math.abs(now / 1_000 - Number(time)) <= toleranceSeconds) return;
  throw refused(`The request was signed more than ${toleranceSeconds} s ago, or in the future.`);
}

function requireSame(hmac: Hmac, given: readonly string[]): void {
  const digest = hmac.digest();
  const isSame = (text: string) => {
    const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
    return bytes.length === digest.length && timingSafeEqual(bytes, digest);
  };
  // Every one of them is compared, whichever is right.
  if (given.map(isSame).includes(true)) return;
  throw refused("The signature of the request does not fit its body and the secret.");
}

function refused(message: string): AppError {
  return new AppError("UNAUTHORIZED", message);
}
