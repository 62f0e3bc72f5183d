/**
 * Authentication of both APIs. Errors do not reveal which part was wrong. Digests are compared in constant time, also
 * for unknown keys. Failures are counted by address, answered late and above the limit with 429, while right
 * credentials still pass immediately, so that nobody who shares an address can be locked out (secrets are 256 random
 * bits: guessing is hopeless, the limit only keeps it cheap).
 */
import type { KeyRole } from "../api/keys.ts";
import type { FailedLogins } from "../endpoint/auth/failed-logins.ts";
import { parseBasicCredentials } from "../lib/basic-credentials.ts";
import { AppError } from "../lib/errors.ts";
import type { AuditEvent } from "../store/audit-events.ts";
import type { Credential, CredentialStore } from "../store/credentials.ts";
import { sameDigest, sha256 } from "../store/secrets.ts";

export type Principal = { readonly organizationId: string; readonly role: KeyRole; readonly credentialId: string };

const noDigest = Buffer.alloc(32);

export class Authenticator {
  readonly #credentials: CredentialStore;
  readonly #failures: FailedLogins;
  readonly #note: (event: AuditEvent) => void;
  /** Minute and address of the last recorded use, by credential. */
  readonly #noted = new Map<string, { readonly minute: number; readonly address: string }>();

  /** `note` is called for refusals, and once a minute for each admitted credential and address. */
  constructor(credentials: CredentialStore, failures: FailedLogins, note: (event: AuditEvent) => void = () => {}) {
    this.#credentials = credentials;
    this.#failures = failures;
    this.#note = note;
  }

  /** Management API: HTTP Basic with key id and secret. Throws UNAUTHORIZED or TOO_MANY_REQUESTS. */
  async basic(header: string | undefined, address: string): Promise<Principal> {
    const { keyId, digest } = readBasic(header);
    const key = keyId === undefined ? undefined : await this.#credentials.findKeyByKeyId(keyId);
    const matches = sameDigest(digest, key === undefined ? noDigest : Buffer.from(key.secretHash, "hex"));
    if (key === undefined || !matches || !this.#usable(key)) {
      this.#noteRefusal("api_key", key, address, matches ? "disabled or expired" : "wrong secret");
      throw await this.#refuse(address, "The key is not valid.");
    }
    this.#noteUse("api_key", key, address);
    return { organizationId: key.organizationId, role: key.role, credentialId: key.id };
  }

  /** Observability API: a bearer token. It reads charts and manages chart sources of its organization. */
  async bearer(header: string | undefined, address: string): Promise<Principal> {
    const secret = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(header ?? "")?.[1];
    if (secret === undefined) throw unauthorized("Send a bearer token.");
    const token = await this.#credentials.findTokenBySecret(secret);
    if (token === undefined || !this.#usable(token))
      throw await this.#refuse(address, "The access token is not valid.");
    this.#noteUse("access_token", token, address);
    return { organizationId: token.organizationId, role: "developer", credentialId: token.id };
  }

  #usable(credential: Credential): boolean {
    if (credential.state !== "enabled") return false;
    return credential.expireAt === null || Date.parse(credential.expireAt) > Date.now();
  }

  async #refuse(address: string, message: string): Promise<AppError> {
    if (await this.#failures.failed(address)) return unauthorized(message);
    return new AppError("TOO_MANY_REQUESTS", "Too many failed logins from this address.");
  }

  /** An unknown credential belongs to no organization. */
  #noteRefusal(
    actorType: "api_key" | "access_token",
    credential: Credential | undefined,
    address: string,
    why: string,
  ): void {
    const [actor, detail] = credential === undefined ? ["", "unknown"] : [credential.id, why];
    const organizationId = credential?.organizationId;
    this.#note({ type: "login_refused", organizationId, actorType, actor, address, detail });
  }

  #noteUse(actorType: "api_key" | "access_token", credential: Credential, address: string): void {
    const minute = Math.floor(Date.now() / 60_000);
    const noted = this.#noted.get(credential.id);
    if (noted?.minute === minute && noted.address === address) return;
    this.#noted.set(credential.id, { minute, address });
    const { organizationId, id: actor } = credential;
    this.#note({ type: "login", organizationId, actorType, actor, address, detail: "" });
    if (noted?.minute === minute) return;
    // Not awaited: the response need not wait for it, and the next use makes up for a lost write.
    const at = new Date(minute * 60_000).toISOString();
    this.#credentials.markUsed(actorType, credential.id, at).catch(() => {});
  }
}

type KeyCredentials = { readonly keyId: string | undefined; readonly digest: Buffer };

function readBasic(header: string | undefined): KeyCredentials {
  const basic = parseBasicCredentials(header);
  if (basic === undefined) throw unauthorized("Send HTTP Basic credentials: key id and key secret.");
  const { user, password } = basic;
  return { keyId: password === undefined ? undefined : user, digest: sha256(password ?? user) };
}

function unauthorized(message: string): AppError {
  return new AppError("UNAUTHORIZED", message);
}
