/**
 * Authentication of both interfaces. Failures say nothing about which part was wrong. The digest comparison takes
 * constant time, also for unknown keys. Wrong credentials are counted by address and answered late, past the limit with
 * 429, while right ones still pass at once, so that nobody behind the same address can be locked out (the secrets are
 * 256 random bits: guessing is hopeless, the limit keeps it cheap).
 */
import type { KeyRole } from "../api/keys.ts";
import type { FailedLogins } from "../door/failed-logins.ts";
import { AppError } from "../lib/errors.ts";
import { remember } from "../lib/remember.ts";
import type { CredentialStore, KeyRow } from "../store/credentials.ts";
import { sameDigest, sha256 } from "../store/secrets.ts";

export type Principal = { readonly organizationId: string; readonly role: KeyRole; readonly credentialId: string };

type StoredCredential = {
  readonly id: string;
  readonly state: string;
  readonly expire_at: string | null;
  readonly used_at: string | null;
};

const noDigest = Buffer.alloc(32);
const digestOf = remember((key: KeyRow) => Buffer.from(key.secret_hash, "hex"));

export class Authenticator {
  readonly #credentials: CredentialStore;
  readonly #failures: FailedLogins;
  /** What headers of callers who were let in say; the key itself is looked up and compared every time. */
  readonly #proven = new Map<string, BasicCredentials>();
  /** Minute of the last noted use, by credential. */
  readonly #noted = new Map<string, number>();

  constructor(credentials: CredentialStore, failures: FailedLogins) {
    this.#credentials = credentials;
    this.#failures = failures;
  }

  /** Interface A: HTTP Basic with key id and secret. Throws UNAUTHORIZED or TOO_MANY_REQUESTS. */
  async basic(header: string | undefined, address: string): Promise<Principal> {
    const proven = this.#proven.get(header ?? "");
    const { keyId, digest } = proven ?? readBasic(header);
    const key = keyId === undefined ? undefined : await this.#credentials.findKeyByKeyId(keyId);
    const matches = sameDigest(digest, key === undefined ? noDigest : digestOf(key));
    if (key === undefined || !matches || !this.#usable(key)) throw await this.#refuse(address, "The key is not valid.");
    if (proven === undefined) this.#remember(header as string, { keyId, digest });
    this.#noteUse("api_keys", key);
    return { organizationId: key.organization_id, role: key.role as KeyRole, credentialId: key.id };
  }

  /** Interface B: a bearer token. It reads charts and manages chart sources of its organization. */
  async bearer(header: string | undefined, address: string): Promise<Principal> {
    const secret = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(header ?? "")?.[1];
    if (secret === undefined) throw unauthorized("Send a bearer token.");
    const token = await this.#credentials.findTokenBySecret(secret);
    if (token === undefined || !this.#usable(token))
      throw await this.#refuse(address, "The access token is not valid.");
    this.#noteUse("access_tokens", token);
    return { organizationId: token.organization_id, role: "developer", credentialId: token.id };
  }

  #remember(header: string, read: BasicCredentials): void {
    if (this.#proven.size >= maxProven) this.#proven.clear();
    this.#proven.set(header, read);
  }

  #usable(credential: StoredCredential): boolean {
    if (credential.state !== "enabled") return false;
    return credential.expire_at === null || Date.parse(credential.expire_at) > Date.now();
  }

  async #refuse(address: string, message: string): Promise<AppError> {
    if (await this.#failures.failed(address)) return unauthorized(message);
    return new AppError("TOO_MANY_REQUESTS", "Too many failed logins from this address.");
  }

  #noteUse(table: "api_keys" | "access_tokens", credential: StoredCredential): void {
    const minute = Math.floor(Date.now() / 60_000);
    if (this.#noted.get(credential.id) === minute) return;
    this.#noted.set(credential.id, minute);
    // Not awaited: the answer need not wait for it, and a lost note is corrected by the next use.
    const at = new Date(minute * 60_000).toISOString();
    this.#credentials.markUsed(table, credential.id, at).catch(() => {});
  }
}

type BasicCredentials = { readonly keyId: string | undefined; readonly digest: Buffer };

/** Headers remembered at a time. */
const maxProven = 1_000;

function readBasic(header: string | undefined): BasicCredentials {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) throw unauthorized("Send HTTP Basic credentials: key id and key secret.");
  const decoded = Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  const keyId = colon < 0 ? undefined : decoded.slice(0, colon);
  return { keyId, digest: sha256(decoded.slice(colon + 1)) };
}

function unauthorized(message: string): AppError {
  return new AppError("UNAUTHORIZED", message);
}
