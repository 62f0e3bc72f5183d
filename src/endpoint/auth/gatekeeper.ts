/**
 * Authentication for one service: access list, login and probes. The same code runs in the gateway, for connections
 * that it serves itself, and in the engine host, for those that were handed over. `handler` handles the requests that
 * are admitted.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ClickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { answerFailure } from "../answer.ts";
import { clientAddressOf } from "../connections/client-address.ts";
import { engineCodeHeader } from "../forward/forward-upstream.ts";
import { requestUrl } from "../request-url.ts";
import { plainAddress } from "./access-list.ts";
import { type DatabaseUser, readCredentials } from "./credentials.ts";
import type { AccessEvent } from "./events.ts";
import type { FailedLogins } from "./failed-logins.ts";
import { markLoggedIn } from "./logged-in.ts";
import { type DatabasePrincipal, type EndpointAccess, Logins, principalFor } from "./logins.ts";

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
  /** Shared with other protocols of the service. */
  readonly logins: Logins;
  readonly #handler: AuthenticatedHandler;
  readonly #logger: LineLogger;
  /** Proxies use one connection for several clients. */
  readonly #lastUser = new WeakMap<Socket, string>();

  constructor(options: GatekeeperOptions) {
    this.logins = new Logins(options);
    this.#handler = options.handler;
    this.#logger = options.logger;
  }

  /** Replaces users and access list, from the next request on, also on open connections. */
  update(facts: EndpointAccess): void {
    this.logins.update(facts);
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
    this.logins.requireAddress(address);
    const url = requestUrl(message);
    if (answerProbe(message, response, url)) return;
    const principal = principalFor(await this.#login(message, response, url, address), address);
    try {
      await this.#handler(message, response, url, principal);
    } catch (error) {
      if (error instanceof ClickHouseException) this.logins.refused(error.code, principal, error.message);
      answerFailure(message, response, error, this.#logger, { loggedIn: true });
      return;
    }
    const code = response.getHeader(engineCodeHeader);
    if (code !== undefined) this.logins.refused(Number(code), principal);
  }

  async #login(message: IncomingMessage, response: ServerResponse, url: URL, address: string): Promise<DatabaseUser> {
    const credentials = readCredentials(message, url.searchParams);
    const user = await this.logins.logIn(credentials, address);
    if ("name" in user) {
      markLoggedIn(message.socket);
      if (this.#lastUser.get(message.socket) !== user.name) {
        this.#lastUser.set(message.socket, user.name);
        this.logins.loggedIn(user.name, address);
      }
      return user;
    }
    if (user.tooMany) {
      response.statusCode = 429;
      response.setHeader("Connection", "close");
    } else if (!credentials.given) {
      response.statusCode = 401;
      response.setHeader("WWW-Authenticate", 'Basic realm="ClickHouse server HTTP API"');
    }
    throw user.exception;
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
