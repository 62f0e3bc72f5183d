/** The door of one service: access list, login, wake, and then the way to the engine. */
import type { Agent, IncomingMessage, ServerResponse } from "node:http";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { sleep } from "../lib/abort.ts";
import { AppError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { accessCheck, plainAddress } from "./access-list.ts";
import type { EngineLease, GatewayBackend, GatewayService, GatewayUser } from "./backend.ts";
import { authenticate, readCredentials } from "./credentials.ts";
import { LoginLimit } from "./login-limit.ts";
import { EngineNotReached, forward } from "./proxy.ts";

/** How often, and how far apart, an engine that does not take connections is tried: two seconds in all. */
const maxAttempts = 20;
const attemptPauseMs = 100;

export type DoorOptions = {
  readonly service: GatewayService;
  readonly backend: GatewayBackend;
  readonly logger: Logger;
  readonly agent: Agent;
};

export class Door {
  #service: GatewayService;
  #allowed: (address: string | undefined) => boolean;
  readonly #backend: GatewayBackend;
  readonly #logger: Logger;
  readonly #agent: Agent;
  readonly #logins = new LoginLimit();

  constructor({ service, backend, logger, agent }: DoorOptions) {
    this.#service = service;
    this.#allowed = accessCheck(service.ipAccessList.map(({ source }) => source));
    this.#backend = backend;
    this.#logger = logger;
    this.#agent = agent;
  }

  /** Takes over users and access list; holds from the next request on, also on open connections. */
  update(service: GatewayService): void {
    this.#service = service;
    this.#allowed = accessCheck(service.ipAccessList.map(({ source }) => source));
  }

  /** Answers one request. Never rejects. */
  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#serve(message, response);
    } catch (error) {
      this.#fail(message, response, error);
    }
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = plainAddress(message.socket.remoteAddress ?? "");
    if (!this.#allowed(address)) {
      const text = `Access from ${address} is not allowed: it is not on the service's IP access list.`;
      throw clickHouseException("ACCESS_DENIED", text);
    }
    const url = new URL(message.url ?? "/", "http://host");
    if (answerProbe(message, response, url)) return;
    const user = this.#login(message, response, url, address);
    const gone = new AbortController();
    response.on("close", () => gone.abort(new Error("the client went away")));
    await this.#forward(message, response, url, user, gone.signal);
  }

  /** An engine that died a moment ago may not be known to be dead yet: then its successor is waited for. */
  async #forward(
    message: IncomingMessage,
    response: ServerResponse,
    url: URL,
    user: GatewayUser,
    signal: AbortSignal,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const lease = await this.#lease(signal);
      try {
        const to = { socketPath: lease.socketPath, agent: this.#agent, user: user.name };
        return await forward(message, response, url, { ...to, readonly: user.readonly ? 2 : 0 });
      } catch (error) {
        if (!(error instanceof EngineNotReached)) throw error;
        if (attempt >= maxAttempts) throw clickHouseException("NETWORK_ERROR", "The service's engine does not answer.");
      } finally {
        lease.release();
      }
      await sleep(attemptPauseMs, signal);
    }
  }

  #login(message: IncomingMessage, response: ServerResponse, url: URL, address: string): GatewayUser {
    const wait = this.#logins.blockedFor(address);
    if (wait > 0) {
      response.statusCode = 429;
      response.setHeader("Retry-After", String(wait));
      throw clickHouseException("AUTHENTICATION_FAILED", `Too many failed logins; try again in ${wait} s`);
    }
    const credentials = readCredentials(message, url.searchParams);
    const user = authenticate(this.#service.users, credentials);
    if (user !== undefined) {
      this.#logins.succeeded(address);
      return user;
    }
    this.#logins.failed(address);
    if (!credentials.given) {
      response.statusCode = 401;
      response.setHeader("WWW-Authenticate", 'Basic realm="ClickHouse server HTTP API"');
    }
    throw clickHouseException(
      "AUTHENTICATION_FAILED",
      `${credentials.user}: Authentication failed: password is incorrect, or there is no user with such name.`,
    );
  }

  async #lease(signal: AbortSignal): Promise<EngineLease> {
    try {
      return await this.#backend.acquire(this.#service.id, signal);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw clickHouseException("NETWORK_ERROR", error.message, { cause: error });
    }
  }

  #fail(message: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.destroyed) return;
    if (response.headersSent) {
      response.socket?.destroySoon();
      return;
    }
    const known = error instanceof ClickHouseException;
    if (!known) this.#logger.error({ err: error, service: this.#service.id }, "request failed");
    const shown = known ? error : clickHouseException("UNKNOWN_EXCEPTION", "The request failed inside the server.");
    const text = shown.format("millrace");
    if (response.statusCode === 200) response.statusCode = shown.httpStatus;
    response.setHeader("Content-Type", "text/plain; charset=UTF-8");
    response.setHeader("X-ClickHouse-Exception-Code", String(shown.code));
    response.setHeader("Content-Length", Buffer.byteLength(text));
    // The rest of the body is of no use; a client that is still sending gets the answer and then the end.
    if (!message.complete) response.setHeader("Connection", "close");
    response.end(text, () => message.resume());
  }
}

/** What is answered without a login and without waking the engine. */
function answerProbe(message: IncomingMessage, response: ServerResponse, url: URL): boolean {
  if (message.method === "OPTIONS") {
    response.writeHead(204, { Allow: "OPTIONS, GET, HEAD, POST" }).end();
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
