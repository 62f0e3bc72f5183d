/**
 * The HTTP client that forwards requests to a loopback port of this machine: it keeps connections open, reads no more
 * of a response than it can pass on, and passes on the received part of a truncated response.
 */
import { UpstreamConnection, type UpstreamHandler, type UpstreamRequest } from "./upstream-connection.ts";

/** The front of an engine host, for requests that the gateway forwards: a loopback port that requires a key. */
export type ForwardAddress = { readonly port: number; readonly key: string };

/** Maximum number of idle connections kept open. */
const maxIdle = 64;

export class Upstream {
  readonly #port: number;
  readonly #open = new Set<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];

  constructor(port: number) {
    this.#port = port;
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
    const connection = new UpstreamConnection(this.#port, {
      onIdle: (one) => (this.#idle.length < maxIdle ? this.#idle.push(one) : one.destroy()),
      onClose: (one) => {
        this.#open.delete(one);
        const at = this.#idle.indexOf(one);
        if (at !== -1) this.#idle.splice(at, 1);
      },
    });
    this.#open.add(connection);
    return connection;
  }
}

/** One client per port, created on first use. */
export class Upstreams {
  readonly #known = new Map<number, Upstream>();

  to(port: number): Upstream {
    let upstream = this.#known.get(port);
    if (upstream === undefined) {
      upstream = new Upstream(port);
      this.#known.set(port, upstream);
    }
    return upstream;
  }

  close(): void {
    for (const upstream of this.#known.values()) upstream.close();
    this.#known.clear();
  }
}
