/**
 * Chooses the service of a request by its host name, and has the service's gatekeeper serve it. Every request is judged
 * by its own `Host` header, because proxies use one connection for requests of several hosts.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { pushAddress } from "../../api/sent-rows.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { answerFailure } from "../answer.ts";
import type { AccessEvent } from "../auth/events.ts";
import { type AuthenticatedHandler, Gatekeeper } from "../auth/gatekeeper.ts";
import type { EndpointAccess, Logins } from "../auth/logins.ts";
import { setClient } from "../connections/client-address.ts";
import { Admission } from "../handoff/admission.ts";
import { exceptionPacket, shownException } from "../native/exception-packet.ts";
import type { PipedClient } from "../native/pipe.ts";
import type { RestingClients } from "../native/resting-clients.ts";
import { discardBody } from "../splice/discard-body.ts";
import { namedHostOf, nameWithoutPort } from "./host-name.ts";

export type NamedService = EndpointAccess & {
  /** The node whose server has the engine, if that is another one than this. */
  readonly elsewhere: string | undefined;
  /** False: its server is one of its own, whose native protocol does not pass through here. */
  readonly hasNative: boolean;
};

export type NamedServicesOptions = {
  readonly domain: string;
  readonly logger: LineLogger;
  /** Handles authenticated requests for the service, which may change. */
  readonly handlerOf: (first: NamedService, current: () => NamedService) => AuthenticatedHandler;
  /** Serves connections of the native protocol. */
  readonly nativeOf: (
    first: NamedService,
    current: () => NamedService,
    logins: Logins,
    admission: Admission,
  ) => RestingClients;
  /** Reads the services again: one may have been created by another server a moment ago. */
  readonly refresh: () => Promise<void>;
  readonly onEvent: (serviceId: string, event: AccessEvent) => void;
  /** Takes the requests to the addresses of push pipes, whichever service or the domain their host names. */
  readonly toPipes: RequestTaker;
};

export type RequestTaker = (message: IncomingMessage, response: ServerResponse) => void;

type Entry = {
  service: NamedService;
  readonly gatekeeper: Gatekeeper;
  readonly admission: Admission;
  readonly native: RestingClients;
};

/** Unknown names cause at most one reading of the services in this time. */
const refreshEveryMs = 500;
const pushPath = new RegExp(`^${pushAddress}[^/?]+(?:/v1/\\w+)?(?:\\?|$)`);
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
    for (const [id, { native }] of this.#entries) {
      if (wanted.has(id)) continue;
      this.#entries.delete(id);
      native.close();
    }
    for (const service of services) {
      const entry = this.#entries.get(service.id);
      if (entry === undefined) this.#entries.set(service.id, this.#entryOf(service));
      else if (JSON.stringify(service) !== JSON.stringify(entry.service)) {
        entry.service = service;
        entry.gatekeeper.update(service);
        entry.admission.update();
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

  /** Serves a connection of the native protocol, whose service is that of its server name (SNI). Never rejects. */
  async serveNative(socket: TLSSocket): Promise<void> {
    try {
      const { domain } = this.#options;
      const named = namedHostOf(serverNameOf(socket), domain);
      const entry = named.kind === "service" ? await this.#service(named.id) : undefined;
      if (entry?.service.hasNative === true) return entry.native.adopt(socket);
      const text =
        entry === undefined
          ? `The server name (SNI) of the connection is that of no service: it must be ID.${domain}.`
          : "This service is on a server of its own: connect to the native port of that server.";
      throw clickHouseException("BAD_ARGUMENTS", text);
    } catch (error) {
      refuseNative(socket, error);
    }
  }

  /** Serves a client of the native protocol that has logged in at another server. Never rejects. */
  async serveRelayed(id: string, socket: Socket, { address, session }: PipedClient, ahead: Buffer): Promise<void> {
    try {
      const entry = await this.#service(id);
      if (entry === undefined || entry.service.elsewhere !== undefined) {
        throw clickHouseException("NETWORK_ERROR", "The engine of this service has moved: connect again.");
      }
      setClient(socket, { address, ahead });
      entry.native.resume(socket, session);
    } catch (error) {
      refuseNative(socket, error);
    }
  }

  close(): void {
    for (const { native } of this.#entries.values()) native.close();
  }

  #entryOf(first: NamedService): Entry {
    const { logger, handlerOf, nativeOf, onEvent } = this.#options;
    const current = () => entry.service;
    const gatekeeper = new Gatekeeper({
      ...{ facts: first, handler: handlerOf(first, current), logger },
      onEvent: (event) => onEvent(first.id, event),
    });
    const admission = new Admission(current);
    const native = nativeOf(first, current, gatekeeper.logins, admission);
    const entry: Entry = { service: first, gatekeeper, admission, native };
    return entry;
  }

  /** Undefined: the request is answered. */
  async #find(message: IncomingMessage, response: ServerResponse): Promise<Entry | undefined> {
    const { domain, toPipes } = this.#options;
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
    if ((entry !== undefined || named.kind === "gateway") && pushPath.test(message.url ?? "")) {
      toPipes(message, response);
      response.once("finish", () => void endLate(message));
      return undefined;
    }
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

function refuseNative(socket: Socket, error: unknown): void {
  const unknown = clickHouseException("NETWORK_ERROR", "The service cannot be looked up now: connect again.");
  socket.end(exceptionPacket(shownException(error) ?? unknown));
  socket.resume();
}

/** A sender that was refused and does not end its body is read for a moment, and then loses its connection. */
async function endLate(message: IncomingMessage): Promise<void> {
  if (message.complete) return;
  await discardBody(message, Number.POSITIVE_INFINITY);
  if (!message.complete) message.socket.destroy();
}

function isForAnotherName({ socket }: IncomingMessage, host: string): boolean {
  const name = serverNameOf(socket);
  return name !== undefined && nameWithoutPort(name) !== nameWithoutPort(host);
}

/** Undefined without a server name, or where TLS ends elsewhere. */
function serverNameOf(socket: Socket): string | undefined {
  const name = socket instanceof TLSSocket ? (socket as { servername?: unknown }).servername : undefined;
  return typeof name === "string" ? name : undefined;
}

function hostsOf({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length;
}
