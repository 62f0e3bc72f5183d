/**
 * Authentication of both APIs and of browsers' sessions. Errors do not reveal which part was wrong. Digests are
 * compared in constant time, also for unknown keys. Failures are counted by address, answered late and above the limit
 * with 429, while right credentials still pass immediately, so that nobody who shares an address can be locked out
 * (secrets are 256 random bits: guessing is hopeless, the limit only keeps it cheap).
 */
import { sourcesOf } from "../../api/ip-access.ts";
import { accessCheck } from "../../endpoint/auth/access-list.ts";
import type { FailedLogins } from "../../endpoint/auth/failed-logins.ts";
import { parseBasicCredentials, parseBearerToken } from "../../lib/authorization.ts";
import { AppError } from "../../lib/errors.ts";
import type { AuditEvent } from "../../store/access/audit-events.ts";
import type { ConsoleSessionStore } from "../../store/access/console-sessions.ts";
import type { ApiKey, Credential, CredentialStore } from "../../store/access/credentials.ts";
import { sameDigest, sha256 } from "../../store/database/secrets.ts";
import { AdmittedCredentials, type CredentialKind, type Principal } from "./principals.ts";

/** What a browser shows to get a session. */
export type BrowserLogin = { readonly token: string } | { readonly keyId: string; readonly keySecret: string };

type AuthenticatorStores = {
  readonly credentials: CredentialStore;
  readonly consoleSessions: ConsoleSessionStore;
  /** Raised by every write of credentials and sessions. */
  readonly accessRevision: () => number;
};

const noDigest = Buffer.alloc(32);

export class Authenticator {
  readonly #admitted: AdmittedCredentials;
  readonly #credentials: CredentialStore;
  readonly #sessions: ConsoleSessionStore;
  readonly #failures: FailedLogins;
  readonly #note: (event: AuditEvent) => void;
  /** Minute and address of the last recorded use, by credential. */
  readonly #noted = new Map<string, { readonly minute: number; readonly address: string }>();

  /** `note` is called for refusals, and once a minute for each admitted credential and address. */
  constructor(stores: AuthenticatorStores, failures: FailedLogins, note: (event: AuditEvent) => void = () => {}) {
    this.#admitted = new AdmittedCredentials(stores.accessRevision);
    this.#credentials = stores.credentials;
    this.#sessions = stores.consoleSessions;
    this.#failures = failures;
    this.#note = note;
  }

  /** The principal of a header or cookie as its method below finds it, without a promise if it is remembered. */
  principalOf(kind: CredentialKind, value: string | undefined, address: string): Principal | Promise<Principal> {
    return this.#admitted.of(kind, value ?? "", address, () => this[kind](value ?? "", address));
  }

  /**
   * Management API: HTTP Basic with key id and secret. Throws UNAUTHORIZED or TOO_MANY_REQUESTS, and FORBIDDEN at an
   * address that is not on the key's list.
   */
  async basic(header: string, address: string): Promise<Principal> {
    return await this.#ofKey(readBasic(header), address);
  }

  /** The same, also with id and secret as a bearer token, which is the form that senders of rows know. */
  async sender(header: string, address: string): Promise<Principal> {
    const token = parseBearerToken(header);
    if (token === undefined) return await this.basic(header, address);
    const [keyId, secret = ""] = token.split(/[.:](.*)/s);
    return await this.#ofKey({ keyId, digest: sha256(secret) }, address);
  }

  /** The key of a browser's login; a link's token is used up. Throws as `basic`. */
  async login(login: BrowserLogin, address: string): Promise<ApiKey> {
    const key = await ("token" in login
      ? this.#keyOfLink(login.token, address)
      : this.#key({ keyId: login.keyId, digest: sha256(login.keySecret) }, address));
    this.#requireAdmitted(key, address);
    this.#noteUse("api_key", key, address);
    return key;
  }

  /**
   * The session with this cookie value, with the present role of its key. Throws UNAUTHORIZED when the session has
   * ended or its key is not usable. Not counted as a failed login: pages that are still open send ended sessions, and
   * nobody guesses 256 random bits.
   */
  async session(value: string, address: string): Promise<Principal> {
    const session = await this.#sessions.findByValue(value);
    const key = session && (await this.#credentials.findKeyById(session.keyId));
    if (session === undefined || key === undefined || !this.#usable(key)) {
      throw unauthorized("The session has ended; sign in again.");
    }
    this.#requireAdmitted(key, address);
    this.#noteUse("api_key", key, address);
    // Not awaited: the next request makes up for a lost write.
    this.#sessions.markSeen(session).catch(() => {});
    return { ...principalOf(key), sessionId: session.id };
  }

  async #ofKey(credentials: KeyCredentials, address: string): Promise<Principal> {
    const key = await this.#key(credentials, address);
    this.#requireAdmitted(key, address);
    this.#noteUse("api_key", key, address);
    return principalOf(key);
  }

  async #key({ keyId, digest }: KeyCredentials, address: string): Promise<ApiKey> {
    const key = keyId === undefined ? undefined : await this.#credentials.findKeyByKeyId(keyId);
    const matches = sameDigest(digest, key === undefined ? noDigest : Buffer.from(key.secretHash, "hex"));
    if (key !== undefined && matches && this.#usable(key)) return key;
    this.#noteRefusal("api_key", key, address, matches ? "disabled or expired" : "wrong secret");
    throw await this.#refuse(address, "The key is not valid.");
  }

  async #keyOfLink(token: string, address: string): Promise<ApiKey> {
    const keyId = await this.#sessions.useLink(token);
    const key = keyId === undefined ? undefined : await this.#credentials.findKeyById(keyId);
    if (key !== undefined && this.#usable(key)) return key;
    this.#noteRefusal("api_key", key, address, "link of a key that is disabled or expired");
    throw await this.#refuse(address, "The link was used already, has expired, or its key is not valid.");
  }

  /** Observability API: a bearer token. It reads charts and manages chart sources of its organization. */
  async bearer(header: string, address: string): Promise<Principal> {
    const secret = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(header)?.[1];
    if (secret === undefined) throw unauthorized("Send a bearer token.");
    const token = await this.#credentials.findTokenBySecret(secret);
    if (token === undefined || !this.#usable(token))
      throw await this.#refuse(address, "The access token is not valid.");
    this.#noteUse("access_token", token, address);
    const { organizationId, id: credentialId } = token;
    return { organizationId, role: "developer", credentialId, expiresAt: expiryOf(token) };
  }

  #usable(credential: Credential): boolean {
    if (credential.state !== "enabled") return false;
    return expiryOf(credential) > Date.now();
  }

  /** The caller has the secret, so the reason tells nothing to strangers. Not counted as a failed login. */
  #requireAdmitted(key: ApiKey, address: string): void {
    if (key.ipAccessList === undefined || accessCheck(sourcesOf(key.ipAccessList))(address)) return;
    this.#noteRefusal("api_key", key, address, "address not on the key's ipAccessList");
    throw new AppError("FORBIDDEN", `The ipAccessList of the key does not admit the address ${address}.`);
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

function principalOf(key: ApiKey): Principal {
  const { organizationId, role, id: credentialId, pipeId, pushLimits } = key;
  return { organizationId, role, credentialId, pipeId, pushLimits, expiresAt: expiryOf(key) };
}

function expiryOf({ expireAt }: Credential): number {
  return expireAt === null ? Number.POSITIVE_INFINITY : Date.parse(expireAt);
}

function readBasic(header: string): KeyCredentials {
  const basic = parseBasicCredentials(header);
  if (basic === undefined) throw unauthorized("Send HTTP Basic credentials: key id and key secret.");
  const { user, password } = basic;
  return { keyId: password === undefined ? undefined : user, digest: sha256(password ?? user) };
}

function unauthorized(message: string): AppError {
  return new AppError("UNAUTHORIZED", message);
}
