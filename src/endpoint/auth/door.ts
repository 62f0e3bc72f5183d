/**
 * The door of one service: access list, login and probes. The same code stands in the gateway, for connections that it
 * serves itself, and in the engine host, for those that were handed over. What happens to a request that was let in is
 * the business of `carry`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { codesOf } from "../../clickhouse/error-codes.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { Logger } from "../../lib/logger.ts";
import { answerFailure } from "../answer.ts";
import { engineCodeHeader } from "../proxy/forward.ts";
import { accessCheck, plainAddress } from "./access-list.ts";
import { authenticate, type DoorUser, readCredentials } from "./credentials.ts";
import type { DoorEvent } from "./events.ts";
import { FailedLogins } from "./failed-logins.ts";
import { isLoggedIn, markLoggedIn } from "./logged-in.ts";

/** Who may come in. Plain data: it travels between processes. */
export type DoorFacts = {
  readonly id: string;
  /** Nobody may connect while it is empty; `0.0.0.0/0` and `::/0` let everybody in. */
  readonly ipAccessList: readonly { readonly source: string }[];
  readonly users: readonly DoorUser[];
};

/** Somebody who was let in: never read from anything that a client sends past the login. */
export type Visitor = { readonly user: string; readonly readonly: 0 | 2 };

/** Carries a request of a visitor out. Rejects, only while nothing was sent back yet, with an exception to send. */
export type Carry = (message: IncomingMessage, response: ServerResponse, url: URL, visitor: Visitor) => Promise<void>;

/** Failed logins per minute and address of a service, beyond which the answer is 429. */
const failuresPerMinute = 20;

/** What a visitor may not do. */
const refusals = codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION");

export type DoorOptions = {
  readonly facts: DoorFacts;
  readonly carry: Carry;
  readonly logger: Logger;
  readonly failedLogins?: FailedLogins;
  /** Told of the first login of a connection, and of every refusal. Must cost little. */
  readonly onEvent?: (event: DoorEvent) => void;
};

export class Door {
  #facts: DoorFacts;
  #allowed: (address: string | undefined) => boolean;
  readonly #carry: Carry;
  readonly #logger: Logger;
  readonly #failedLogins: FailedLogins;
  readonly #onEvent: (event: DoorEvent) => void;

  constructor(options: DoorOptions) {
    this.#facts = options.facts;
    this.#allowed = accessCheck(options.facts.ipAccessList.map(({ source }) => source));
    this.#carry = options.carry;
    this.#logger = options.logger;
    this.#failedLogins = options.failedLogins ?? new FailedLogins({ perMinute: failuresPerMinute });
    this.#onEvent = options.onEvent ?? (() => {});
  }

  /** Takes over users and access list; holds from the next request on, also on open connections. */
  update(facts: DoorFacts): void {
    this.#facts = facts;
    this.#allowed = accessCheck(facts.ipAccessList.map(({ source }) => source));
  }

  /** Answers one request. Never rejects. */
  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#serve(message, response);
    } catch (error) {
      answerFailure(message, response, error, this.#logger);
    }
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = plainAddress(message.socket.remoteAddress ?? "");
    if (!this.#allowed(address)) {
      const text = `Access from ${address} is not allowed: it is not on the service's IP access list.`;
      this.#onEvent({ type: "address_refused", user: "", address, detail: "not on the IP access list" });
      throw clickHouseException("ACCESS_DENIED", text);
    }
    const url = new URL(message.url ?? "/", "http://host");
    if (answerProbe(message, response, url)) return;
    const user = await this.#login(message, response, url, address);
    const refused = (code: number, detail: string) => {
      if (refusals.has(code)) this.#onEvent({ type: "statement_refused", user: user.name, address, detail });
    };
    try {
      await this.#carry(message, response, url, { user: user.name, readonly: user.readonly ? 2 : 0 });
    } catch (error) {
      if (error instanceof ClickHouseException) refused(error.code, error.message);
      throw error;
    }
    const code = response.getHeader(engineCodeHeader);
    if (code !== undefined) refused(Number(code), `by the engine, with code ${code}`);
  }

  /** The password comes first: wrong ones from the same address keep nobody out who has the right one. */
  async #login(message: IncomingMessage, response: ServerResponse, url: URL, address: string): Promise<DoorUser> {
    const credentials = readCredentials(message, url.searchParams);
    const user = authenticate(this.#facts.users, credentials);
    if (user !== undefined) {
      if (!isLoggedIn(message.socket)) {
        markLoggedIn(message.socket);
        this.#onEvent({ type: "login", user: user.name, address, detail: "" });
      }
      return user;
    }
    this.#onEvent({ type: "login_refused", user: credentials.user, address, detail: "wrong password or unknown name" });
    if (!(await this.#failedLogins.failed(address))) {
      response.statusCode = 429;
      response.setHeader("Connection", "close");
      throw clickHouseException("AUTHENTICATION_FAILED", `Too many failed logins from ${address}.`);
    }
    if (!credentials.given) {
      response.statusCode = 401;
      response.setHeader("WWW-Authenticate", 'Basic realm="ClickHouse server HTTP API"');
    }
    throw clickHouseException(
      "AUTHENTICATION_FAILED",
      `${credentials.user}: Authentication failed: password is incorrect, or there is no user with such name.`,
    );
  }
}

/** What a page of another origin may send, as a ClickHouse server says it. */
const preflightHeaders = {
  Allow: "OPTIONS, GET, HEAD, POST",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers":
    "origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, x-clickhouse-database, authorization, content-type",
  "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
  "Access-Control-Max-Age": "86400",
};

/** What is answered without a login and without waking the engine. */
function answerProbe(message: IncomingMessage, response: ServerResponse, url: URL): boolean {
  if (message.method === "OPTIONS") {
    response.writeHead(204, preflightHeaders).end();
    return true;
  }
  const probe = url.pathname === "/ping" || url.pathname === "/replicas_status";
  if (!probe && !(url.pathname === "/" && url.search === "" && isRead(message))) return false;
  response.writeHead(200, { "Content-Type": "text/html; charset=UTF-8", "Content-Length": "4" }).end("Ok.\n");
  return true;
}

function isRead(message: IncomingMessage): boolean {
  return message.method === "GET" || message.method === "HEAD";
}
