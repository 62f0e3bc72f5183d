/**
 * The always-open ClickHouse HTTP listener of every service. It is open while the service exists, also when its engine
 * is idle or stopped: then a query wakes it, or gets a clear 503. While the engine runs, connections are handed over to
 * its process, which alone handles their requests. Only TLS is terminated here.
 */
import type { Socket } from "node:net";
import type { TlsSource } from "../../lib/certificate-files.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AccessEvent } from "../auth/events.ts";
import { Gatekeeper } from "../auth/gatekeeper.ts";
import { ClientConnections } from "../connections/connections.ts";
import { forwardToHost } from "../forward/forward-to-host.ts";
import { Upstreams } from "../forward/upstream.ts";
import { Admission } from "../handoff/admission.ts";
import { RestingClients } from "../native/resting-clients.ts";
import { ClientListener } from "../ports/client-listener.ts";
import type { TrustedProxies } from "../proxy-protocol/trusted-proxies.ts";
import type { GatewayBackend, GatewayService } from "./backend.ts";

export type GatewayOptions = {
  readonly backend: GatewayBackend;
  readonly logger: Logger;
  /** Called for logins and refusals on connections that are served here. */
  readonly onEvent?: (serviceId: string, event: AccessEvent) => void;
  readonly tls?: TlsSource | undefined;
  /** Proxies whose connections begin with a PROXY header; undefined: there are none. */
  readonly proxies?: TrustedProxies | undefined;
  /** How long responses in progress may take when a listener is closed; default 2 s. */
  readonly closeGraceMs?: number;
};

type Listener = {
  readonly clients: ClientListener;
  /** Takes the native protocol; not open for a service without a port of it. */
  readonly native: ClientListener;
  readonly gatekeeper: Gatekeeper;
  service: GatewayService;
  readonly admission: Admission;
  /** Frees the port, and closes the connections of this process; responses in progress get that long. */
  readonly close: (graceMs: number) => Promise<void>;
};

const defaultCloseGraceMs = 2_000;

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #listeners = new Map<string, Listener>();
  readonly #closing = new Set<Promise<void>>();
  readonly #upstreams = new Upstreams();
  /** What failed in the last pass. */
  #failures: ReadonlyMap<string, Error> = new Map();

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /**
   * Opens, updates and closes listeners until they match `services`; then users and access lists hold for every
   * request, also on open connections. A listener that cannot be opened (its port is in use) or updated is in the
   * returned map with the reason, and the next call retries it; the others work.
   */
  async sync(services: readonly GatewayService[]): Promise<ReadonlyMap<string, Error>> {
    const failures = new Map<string, Error>();
    const fail = (service: GatewayService, error: unknown, text: string) => {
      failures.set(service.id, error as Error);
      // Retried every two seconds, and logged once.
      if (this.#failures.get(service.id)?.message === (error as Error).message) return;
      this.#options.logger.error({ reason: (error as Error).message, service: service.name, port: service.port }, text);
    };
    const wanted = new Map(services.map((service) => [service.id, service]));
    for (const [id, listener] of this.#listeners) {
      const service = wanted.get(id);
      if (service === undefined || placeOf(service) !== placeOf(listener.service)) {
        this.#listeners.delete(id);
        this.#leave(listener);
      } else await this.#update(listener, service).catch((error) => fail(service, error, "listener not updated"));
    }
    for (const service of wanted.values()) {
      if (this.#listeners.has(service.id)) continue;
      try {
        this.#listeners.set(service.id, await this.#open(service));
      } catch (error) {
        fail(service, error, "listener not opened");
      }
    }
    for (const { service, native } of this.#listeners.values()) {
      if (service.nativePort === undefined || native.port !== undefined) continue;
      const at = { host: service.host, port: service.nativePort };
      await native.listen(at).catch((error) => fail(service, error, "native listener not opened"));
    }
    this.#failures = failures;
    return failures;
  }

  /** The port of the service's listener; undefined while it is not open. */
  portOf(serviceId: string): number | undefined {
    return this.#listeners.get(serviceId)?.clients.port;
  }

  /** The same for the native protocol. */
  nativePortOf(serviceId: string): number | undefined {
    return this.#listeners.get(serviceId)?.native.port;
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners.values()) this.#leave(listener);
    this.#listeners.clear();
    await Promise.all(this.#closing);
    this.#upstreams.close();
  }

  async #open(service: GatewayService): Promise<Listener> {
    const { logger, backend, tls, proxies } = this.#options;
    // A connection of which TLS was terminated cannot continue in another process.
    const handsOver = tls === undefined;
    const gatekeeper = this.#gatekeeper(service, handsOver);
    const connections = new ClientConnections({
      onRequest: (message, response) => void gatekeeper.serve(message, response),
    });
    let closed = false;
    const onClient = (socket: Socket) => {
      const keep = () => (closed ? socket.destroy() : connections.adopt(socket));
      const to = handsOver ? backend.handoff(service.id) : undefined;
      if (to === undefined) return keep();
      listener.admission.admit(to).catch(() => {});
      to.send(socket, keep);
    };
    const onError = (error: Error) => logger.error({ err: error, service: service.id }, "listener failed");
    const clients = new ClientListener({ tls, proxies, onClient, onError });
    const admission = new Admission(() => listener.service);
    const { logins } = gatekeeper;
    const resting = new RestingClients({ serviceId: service.id, backend, logins, logger, admission, handsOver });
    const native = new ClientListener({ tls, proxies, onClient: (socket) => resting.adopt(socket), onError });
    const close = async (graceMs: number) => {
      closed = true;
      for (const one of [clients, native]) one.close();
      resting.close();
      await connections.close(graceMs);
    };
    const listener: Listener = { clients, native, gatekeeper, service, admission, close };
    await clients.listen(service);
    return listener;
  }

  #gatekeeper(service: GatewayService, handsOver: boolean): Gatekeeper {
    const { backend, logger } = this.#options;
    const carry = forwardToHost({ serviceId: service.id, backend, upstreams: this.#upstreams, handsOff: handsOver });
    const onEvent = (event: AccessEvent) => this.#options.onEvent?.(service.id, event);
    return new Gatekeeper({ facts: service, handler: carry, logger, onEvent });
  }

  async #update(listener: Listener, service: GatewayService): Promise<void> {
    if (JSON.stringify(service) !== JSON.stringify(listener.service)) {
      listener.service = service;
      listener.gatekeeper.update(service);
      listener.admission.update();
    }
    await listener.admission.settle();
  }

  /** The port is free immediately. Responses in progress delay no other listener. */
  #leave(listener: Listener): void {
    const closed = this.#close(listener).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  /** Accepts no new connections; responses in progress get a moment. */
  async #close({ admission, close }: Listener): Promise<void> {
    const graceMs = this.#options.closeGraceMs ?? defaultCloseGraceMs;
    const draining = close(graceMs);
    await admission.host?.drain({ graceMs }).catch(() => {});
    await draining;
  }
}

function placeOf({ host, port, nativePort }: GatewayService): string {
  return `${host} ${port} ${nativePort}`;
}
