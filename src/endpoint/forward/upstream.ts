/**
 * The HTTP client that forwards requests to a port of this machine, or to another server: it keeps connections open,
 * reads no more of a response than it can pass on, and passes on the received part of a truncated response.
 */
import {
  loopbackConnector,
  UpstreamConnection,
  type UpstreamConnector,
  type UpstreamHandler,
  type UpstreamRequest,
} from "./upstream-connection.ts";

/** The front of an engine host, for requests that the gateway forwards: a loopback port that requires a key. */
export type ForwardAddress = { readonly port: number; readonly key: string };

/** Maximum number of idle connections kept open. */
const maxIdle = 64;

export class Upstream {
  readonly #connector: UpstreamConnector;
  readonly #onUnused: () => void;
  readonly #open = new Set<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];

  /** `onUnused` is called when the last connection has closed. */
  constructor(connector: UpstreamConnector, onUnused: () => void = () => {}) {
    this.#connector = connector;
    this.#onUnused = onUnused;
  }

  /**
   * Sends a request on a connection of its own. Returns a function that cancels it. Throws when a value cannot be part
   * of a request.
   */
  send(request: UpstreamRequest, handler: UpstreamHandler): { abort(error: Error): void } {
    const connection = this.#idle.pop() ?? this.#connect();
    return { abort: connection.send(request, handler) };
  }

  /** Cancels everything in progress. */
  close(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #connect(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#connector, {
      onIdle: (one) => (this.#idle.length < maxIdle ? this.#idle.push(one) : one.destroy()),
      onClose: (one) => {
        this.#open.delete(one);
        const at = this.#idle.indexOf(one);
        if (at !== -1) this.#idle.splice(at, 1);
        if (this.#open.size === 0) this.#onUnused();
      },
    });
    this.#open.add(connection);
    return connection;
  }
}

/** One client per server, created on first use, and forgotten when its last connection has closed. */
export class UpstreamPool<Target> {
  readonly #connectorTo: (target: Target) => UpstreamConnector;
  readonly #known = new Map<Target, Upstream>();

  constructor(connectorTo: (target: Target) => UpstreamConnector) {
    this.#connectorTo = connectorTo;
  }

  to(target: Target): Upstream {
    let upstream = this.#known.get(target);
    if (upstream === undefined) {
      const created = new Upstream(this.#connectorTo(target), () => {
        if (this.#known.get(target) === created) this.#known.delete(target);
      });
      upstream = created;
      this.#known.set(target, upstream);
    }
    return upstream;
  }

  close(): void {
    for (const upstream of this.#known.values()) upstream.close();
    this.#known.clear();
  }
}

/** Clients of ports of this machine. */
export class Upstreams extends UpstreamPool<number> {
  constructor() {
    super((port) => loopbackConnector(port));
  }
}
