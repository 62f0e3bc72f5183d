/**
 * Encrypts secret values at rest with AES-256-GCM. The key is 32 bytes, from the configuration or a file of mode 0600
 * in the data directory. An encrypted text is bound to its context (for example a pipe id): in another context it
 * cannot be decrypted.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Bytes of a sealed `{}`: the cipher keeps lengths. */
const emptyLength = 12 + 16 + "{}".length;

export class Sealer {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error("the secret key must be 32 bytes");
    this.#key = key;
  }

  seal(value: unknown, context: string): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
    return `v1.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64url")}`;
  }

  /** Throws when the text was not encrypted with this key for this context. */
  open<T>(sealed: string, context: string): T {
    const bytes = Buffer.from(sealed.slice("v1.".length), "base64url");
    const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(12, 28));
    const body = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
    return JSON.parse(body.toString("utf8")) as T;
  }

  /** As `open`, and undefined for a text that was sealed with another key. Nothing can be hidden in an empty object. */
  tryOpen<T extends object>(sealed: string, context: string): T | undefined {
    if (Buffer.from(sealed.slice("v1.".length), "base64url").length === emptyLength) return {} as T;
    try {
      return this.open<T>(sealed, context);
    } catch {
      return undefined;
    }
  }
}

/** Reads the key file, creating it on first use. */
export function loadOrCreateKey(file: string): Buffer {
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("base64"), { mode: 0o600, flag: "wx" });
  const key = Buffer.from(readFileSync(file, "utf8").trim(), "base64");
  if (key.length === 32) return key;
  throw new Error(
    `${file} does not hold a key of 32 bytes in base64: put the key back that the secrets are sealed with, or remove the file and set all secrets again`,
  );
}

/** A new secret of 32 random bytes, URL-safe. High entropy, so one round of SHA-256 is a sufficient stored form. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function sha256Hex(value: string): string {
  return hash("sha256", value, "hex");
}

export function sha256(value: string): Buffer {
  return hash("sha256", value, "buffer");
}

/** Compares two digests in constant time. */
export function sameDigest(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
