/**
 * Who may use one service, for every protocol of it: the access list, the users, the delays of failed logins and what
 * is reported of them. The same code runs in the gateway and in the engine host.
 */
import { codesOf } from "../../clickhouse/error-codes.ts";
import { type ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { accessCheck } from "./access-list.ts";
import { authenticate, type DatabaseUser } from "./credentials.ts";
import { type AccessEvent, shortened } from "./events.ts";
import { FailedLogins } from "./failed-logins.ts";

/** Users and access list. Plain data: it is sent between processes. */
export type EndpointAccess = {
  readonly id: string;
  /** An empty list admits nobody; `0.0.0.0/0` and `::/0` admit everybody. */
  readonly ipAccessList: readonly { readonly source: string }[];
  readonly users: readonly DatabaseUser[];
};

/** An authenticated client: set only by the login, never from anything else that the client sends. */
export type DatabasePrincipal = {
  readonly user: string;
  readonly readonly: 0 | 2;
  /** True for a user who has only the rights that statements have granted. */
  readonly restricted: boolean;
  /** The client's address, for the engine's log. */
  readonly address: string;
};

/** Failed logins per minute and address of a service; above this the response is another one. */
const failuresPerMinute = 20;
/** Errors that mean the user lacks a right. */
const refusals = codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION");

export type LoginsOptions = {
  readonly facts: EndpointAccess;
  readonly failedLogins?: FailedLogins | undefined;
  /** Must be cheap. */
  readonly onEvent?: ((event: AccessEvent) => void) | undefined;
};

/** A login that failed, and whether there were too many of them. */
export type FailedLogin = { readonly tooMany: boolean; readonly exception: ClickHouseException };

export class Logins {
  #facts: EndpointAccess;
  #allowed: (address: string | undefined) => boolean;
  readonly #failedLogins: FailedLogins;
  readonly #onEvent: (event: AccessEvent) => void;

  constructor({ facts, failedLogins, onEvent }: LoginsOptions) {
    this.#facts = facts;
    this.#allowed = accessCheck(facts.ipAccessList.map(({ source }) => source));
    this.#failedLogins = failedLogins ?? new FailedLogins({ perMinute: failuresPerMinute });
    this.#onEvent = (event) => onEvent?.(shortened(event));
  }

  /** Replaces users and access list, from the next statement on, also on open connections. */
  update(facts: EndpointAccess): void {
    this.#facts = facts;
    this.#allowed = accessCheck(facts.ipAccessList.map(({ source }) => source));
  }

  /** Throws ACCESS_DENIED for an address that is not on the access list. */
  requireAddress(address: string): void {
    if (this.#allowed(address)) return;
    const text = `Access from ${address} is not allowed: it is not on the service's IP access list.`;
    this.#onEvent({ type: "address_refused", user: "", address, detail: "not on the IP access list" });
    throw clickHouseException("ACCESS_DENIED", text);
  }

  /**
   * The user, or why there is none, which takes a while after some failures. The password is checked first: failures
   * from the same address never block a client with the right password.
   */
  async logIn(
    credentials: { readonly user: string; readonly password: string },
    address: string,
  ): Promise<DatabaseUser | FailedLogin> {
    const user = authenticate(this.#facts.users, { ...credentials, given: true });
    if (user !== undefined) return user;
    this.#onEvent({ type: "login_refused", user: credentials.user, address, detail: "wrong password or unknown name" });
    const tooMany = !(await this.#failedLogins.failed(address));
    const text = tooMany
      ? `Too many failed logins from ${address}.`
      : `${credentials.user}: Authentication failed: password is incorrect, or there is no user with such name.`;
    return { tooMany, exception: clickHouseException("AUTHENTICATION_FAILED", text) };
  }

  /** Reports a login. */
  loggedIn(user: string, address: string): void {
    this.#onEvent({ type: "login", user, address, detail: "" });
  }

  /** The user of a login before, if name and password are still the same; undefined: nobody. */
  stillKnown(name: string, passwordSha256Hex: string): DatabaseUser | undefined {
    return this.#facts.users.find((user) => user.name === name && user.passwordSha256Hex === passwordSha256Hex);
  }

  /** Reports an error of a statement, if it means that the user lacks a right. */
  refused(code: number, { user, address }: Pick<DatabasePrincipal, "user" | "address">, detail?: string): void {
    if (!refusals.has(code)) return;
    this.#onEvent({ type: "statement_refused", user, address, detail: detail ?? `by the engine, with code ${code}` });
  }
}

export function principalFor(user: DatabaseUser, address: string): DatabasePrincipal {
  return { user: user.name, readonly: user.readonly ? 2 : 0, restricted: user.restricted === true, address };
}
