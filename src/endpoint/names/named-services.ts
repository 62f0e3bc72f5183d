/**
 * Chooses the service of a request by its host name, and has the service's gatekeeper serve it. Every request is judged
 * by its own `Host` header, because proxies use one connection for requests of several hosts.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import { clickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { answerFailure } from "../answer.ts";
import type { AccessEvent } from "../auth/events.ts";
import { type AuthenticatedHandler, Gatekeeper } from "../auth/gatekeeper.ts";
import type { EndpointAccess } from "../auth/logins.ts";
import { namedHostOf, nameWithoutPort } from "./host-name.ts";

export type NamedService = EndpointAccess & {
  /** The node whose server has the engine, if that is another one than this. */
  readonly elsewhere: string | undefined;
};

export type NamedServicesOptions = {
  readonly domain: string;
  readonly logger: LineLogger;
  /** Handles authenticated requests for the service, which may change. */
  readonly handlerOf: (first: NamedService, current: () => NamedService) => AuthenticatedHandler;
  /** Reads the services again: one may have been created by another server a moment ago. */
  readonly refresh: () => Promise<void>;
  readonly onEvent: (serviceId: string, event: AccessEvent) => void;
};

type Entry = { service: NamedService; readonly gatekeeper: Gatekeeper };

/** Unknown names cause at most one reading of the services in this time. */
const refreshEveryMs = 500;
const serviceId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class NamedServices {
  readonly #options: NamedServicesOptions;
  readonly #entries = new Map<string, Entry>();
  #isKnown = false;
  #refreshing: Promise<void> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: NamedServicesOptions) {
    this.#options = options;
  }

  /** Users and access lists hold from the next request on, also on open connections. */
  sync(services: readonly NamedService[]): void {
    this.#isKnown = true;
    const wanted = new Set(services.map(({ id }) => id));
    for (const id of this.#entries.keys()) if (!wanted.has(id)) this.#entries.delete(id);
    for (const service of services) {
      const entry = this.#entries.get(service.id);
      if (entry === undefined) this.#entries.set(service.id, this.#entryOf(service));
      else if (JSON.stringify(service) !== JSON.stringify(entry.service)) {
        entry.service = service;
        entry.gatekeeper.update(service);
      }
    }
  }

  /** Answers one request. Never rejects. */
  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    let entry: Entry | undefined;
    try {
      entry = await this.#find(message, response);
    } catch (error) {
      answerFailure(message, response, error, this.#options.logger);
      return;
    }
    await entry?.gatekeeper.serve(message, response);
  }

  #entryOf(first: NamedService): Entry {
    const { logger, handlerOf, onEvent } = this.#options;
    const entry: Entry = {
      service: first,
      gatekeeper: new Gatekeeper({
        facts: first,
        handler: handlerOf(first, () => entry.service),
        logger,
        onEvent: (event) => onEvent(first.id, event),
      }),
    };
    return entry;
  }

  /** Undefined: the request is answered. */
  async #find(message: IncomingMessage, response: ServerResponse): Promise<Entry | undefined> {
    const { domain } = this.#options;
    const refuse = (status: number, text: string): never => {
      response.statusCode = status;
      throw clickHouseException("BAD_ARGUMENTS", `${text} The host name of a service is ID.${domain}.`);
    };
    const { host } = message.headers;
    const named = hostsOf(message) > 1 ? undefined : namedHostOf(host, domain);
    if (named === undefined) return refuse(400, "The request has several Host headers.");
    if (named.kind === "missing") return refuse(400, "The request has no Host header.");
    if (named.kind === "address") return refuse(400, "The Host header of the request is an address.");
    if (isForAnotherName(message, host ?? "")) {
      return refuse(421, "The Host header differs from the server name (SNI) of the connection.");
    }
    // What a load balancer asks to learn whether this server works.
    if (named.kind === "gateway" && message.url === "/ping") {
      response.writeHead(200, { "Content-Type": "text/html; charset=UTF-8", "Content-Length": "4" }).end("Ok.\n");
      return undefined;
    }
    const entry = named.kind === "service" ? await this.#service(named.id) : undefined;
    return entry ?? refuse(404, "No service has the host name of this request.");
  }

  async #service(id: string): Promise<Entry | undefined> {
    const known = this.#entries.get(id);
    if (known !== undefined || !serviceId.test(id)) return known;
    await this.#refresh();
    if (!this.#isKnown) throw clickHouseException("NETWORK_ERROR", "The gateway is being started: repeat the request.");
    return this.#entries.get(id);
  }

  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#refreshedAt >= refreshEveryMs) {
      this.#refreshedAt = now;
      this.#refreshing = this.#options.refresh();
    }
    await this.#refreshing;
  }
}

function isForAnotherName({ socket }: IncomingMessage, host: string): boolean {
  // False without a server name, or where TLS ends elsewhere.
  const name = socket instanceof TLSSocket ? (socket as { servername?: unknown }).servername : undefined;
  return typeof name === "string" && nameWithoutPort(name) !== nameWithoutPort(host);
}

function hostsOf({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length;
}
