/**
 * Authentication for one service: access list, login and probes. The same code runs in the gateway, for connections
 * that it serves itself, and in the engine host, for those that were handed over. `handler` handles the requests that
 * are admitted.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codesOf } from "../../clickhouse/error-codes.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { answerFailure } from "../answer.ts";
import { clientAddressOf } from "../connections/client-address.ts";
import { engineCodeHeader } from "../proxy/forward-upstream.ts";
import { requestUrl } from "../request-url.ts";
import { accessCheck, plainAddress } from "./access-list.ts";
import { authenticate, type DatabaseUser, readCredentials } from "./credentials.ts";
import type { AccessEvent } from "./events.ts";
import { FailedLogins } from "./failed-logins.ts";
import { markLoggedIn } from "./logged-in.ts";

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
  /** Of the client; for the engine's log. */
  readonly address: string;
};

/**
 * Handles a request of an authenticated client. Rejects with an exception to send, and only before any part of the
 * response is sent.
 */
export type AuthenticatedHandler = (
  message: IncomingMessage,
  response: ServerResponse,
  url: URL,
  principal: DatabasePrincipal,
) => Promise<void>;

/** Failed logins per minute and address of a service; above this the response is 429. */
const failuresPerMinute = 20;

/** Errors that mean the user lacks a right. */
const refusals = codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION");

export type GatekeeperOptions = {
  readonly facts: EndpointAccess;
  readonly handler: AuthenticatedHandler;
  readonly logger: LineLogger;
  readonly failedLogins?: FailedLogins;
  /**
   * Called for the first login of a connection, for each one of another user than before, and for every refusal. Must
   * be cheap.
   */
  readonly onEvent?: (event: AccessEvent) => void;
};

export class Gatekeeper {
  #facts: EndpointAccess;
  #allowed: (address: string | undefined) => boolean;
  readonly #handler: AuthenticatedHandler;
  readonly #logger: LineLogger;
  readonly #failedLogins: FailedLogins;
  readonly #onEvent: (event: AccessEvent) => void;
  /** Proxies use one connection for several clients. */
  readonly #lastUser = new WeakMap<Socket, string>();

  constructor(options: GatekeeperOptions) {
    this.#facts = options.facts;
    this.#allowed = accessCheck(options.facts.ipAccessList.map(({ source }) => source));
    this.#handler = options.handler;
    this.#logger = options.logger;
    this.#failedLogins = options.failedLogins ?? new FailedLogins({ perMinute: failuresPerMinute });
    this.#onEvent = options.onEvent ?? (() => {});
  }

  /** Replaces users and access list, from the next request on, also on open connections. */
  update(facts: EndpointAccess): void {
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
    const address = plainAddress(clientAddressOf(message.socket));
    if (!this.#allowed(address)) {
      const text = `Access from ${address} is not allowed: it is not on the service's IP access list.`;
      this.#onEvent({ type: "address_refused", user: "", address, detail: "not on the IP access list" });
      throw clickHouseException("ACCESS_DENIED", text);
    }
    const url = requestUrl(message);
    if (answerProbe(message, response, url)) return;
    const user = await this.#login(message, response, url, address);
    const refused = (code: number, detail: string) => {
      if (refusals.has(code)) this.#onEvent({ type: "statement_refused", user: user.name, address, detail });
    };
    try {
      const rights = { readonly: user.readonly ? 2 : 0, restricted: user.restricted === true } as const;
      await this.#handler(message, response, url, { user: user.name, ...rights, address });
    } catch (error) {
      if (error instanceof ClickHouseException) refused(error.code, error.message);
      throw error;
    }
    const code = response.getHeader(engineCodeHeader);
    if (code !== undefined) refused(Number(code), `by the engine, with code ${code}`);
  }

  /** The password is checked first: failures from the same address never block a client with the right password. */
  async #login(message: IncomingMessage, response: ServerResponse, url: URL, address: string): Promise<DatabaseUser> {
    const credentials = readCredentials(message, url.searchParams);
    const user = authenticate(this.#facts.users, credentials);
    if (user !== undefined) {
      markLoggedIn(message.socket);
      if (this.#lastUser.get(message.socket) !== user.name) {
        this.#lastUser.set(message.socket, user.name);
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

/** The headers that a page of another origin may send, as in a ClickHouse server. */
const preflightHeaders = {
  Allow: "OPTIONS, GET, HEAD, POST",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers":
    "origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, x-clickhouse-database, authorization, content-type",
  "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
  "Access-Control-Max-Age": "86400",
};

/** Answers probes without a login and without waking the engine. */
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
