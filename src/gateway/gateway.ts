/**
 * The always-open ClickHouse HTTP listener of every service. It is open while the service exists, also when its
 * engine sleeps or is stopped: then a query wakes it, or gets a clear 503.
 */
import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Logger } from "../lib/logger.ts";
import type { GatewayBackend, GatewayService } from "./backend.ts";
import { Door } from "./door.ts";

export type GatewayOptions = {
  readonly backend: GatewayBackend;
  readonly logger: Logger;
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
};

type Listener = { readonly server: Server; readonly door: Door; readonly host: string; readonly port: number };

/** Statements in URLs of a megabyte are real. */
const maxHeaderBytes = 2 * 1_048_576;
const idleConnectionMs = 30_000;
const closeGraceMs = 2_000;
/** A larger mark than the default 64 KiB: else every chunk waits for the one before to leave. */
export const bufferedBytes = 1_048_576;

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #listeners = new Map<string, Listener>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 256 });

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /**
   * Opens, updates and closes listeners until they match `services`. A listener that cannot be opened (its port is in
   * use) is in the returned map with the reason, and is tried again by the next call; the others work.
   */
  async sync(services: readonly GatewayService[]): Promise<ReadonlyMap<string, Error>> {
    const failures = new Map<string, Error>();
    const wanted = new Map(services.map((service) => [service.id, service]));
    for (const [id, listener] of this.#listeners) {
      const service = wanted.get(id);
      if (service === undefined || service.host !== listener.host || service.port !== listener.port) {
        this.#listeners.delete(id);
        await stop(listener.server);
      } else listener.door.update(service);
    }
    for (const service of wanted.values()) {
      if (this.#listeners.has(service.id)) continue;
      try {
        this.#listeners.set(service.id, await this.#open(service));
      } catch (error) {
        this.#options.logger.error({ err: error, service: service.id, port: service.port }, "listener not opened");
        failures.set(service.id, error as Error);
      }
    }
    return failures;
  }

  /** The port that the service's listener has, or undefined while it is not open. */
  portOf(serviceId: string): number | undefined {
    const address = this.#listeners.get(serviceId)?.server.address();
    return (address as AddressInfo | null | undefined)?.port;
  }

  async close(): Promise<void> {
    const open = [...this.#listeners.values()];
    this.#listeners.clear();
    await Promise.all(open.map(({ server }) => stop(server)));
    this.#agent.destroy();
  }

  async #open(service: GatewayService): Promise<Listener> {
    const { backend, logger, tls } = this.#options;
    const door = new Door({ service, backend, logger, agent: this.#agent });
    const onRequest = (message: IncomingMessage, response: ServerResponse) => void door.serve(message, response);
    const options = {
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: idleConnectionMs,
      requestTimeout: 0,
      highWaterMark: bufferedBytes,
    };
    const server =
      tls === undefined ? createServer(options, onRequest) : createTlsServer({ ...options, ...tls }, onRequest);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(service.port, service.host, () => {
        server.removeListener("error", reject);
        resolve();
      });
    });
    server.on("error", (error) => logger.error({ err: error, service: service.id }, "listener failed"));
    return { server, door, host: service.host, port: service.port };
  }
}

/** No new connections; answers under way get a moment. */
async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await closed;
  clearTimeout(timer);
}
