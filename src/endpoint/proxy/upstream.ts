/**
 * The HTTP client that requests of clients are passed on with, to a loopback port of this machine: it keeps connections
 * open, reads no more of an answer than it can give away, and gives away what has arrived of an answer that is cut off.
 */
import { UpstreamConnection, type UpstreamHandler, type UpstreamRequest } from "./upstream-connection.ts";

/** The front of an engine host, for requests that the gateway carries: a loopback port that answers to a key only. */
export type FrontAddress = { readonly port: number; readonly key: string };

/** Connections that are kept open for the next request. */
const maxIdle = 64;

export class Upstream {
  readonly #port: number;
  readonly #open = new Set<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request on a connection of its own. Returns what ends it. Throws for what cannot stand in a request. */
  send(request: UpstreamRequest, handler: UpstreamHandler): { abort(error: Error): void } {
    const connection = this.#idle.pop() ?? this.#connect();
    let over = false;
    connection.send(request, {
      onHead: (head) => handler.onHead(head),
      onData: (slice, sent) => handler.onData(slice, sent),
      onEnd: () => {
        over = true;
        handler.onEnd();
      },
      onError: (error, notReached) => {
        over = true;
        handler.onError(error, notReached);
      },
    });
    return { abort: (error) => !over && connection.destroy(error) };
  }

  /** Ends everything that is under way. */
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

/** Clients of ports, each made when it is asked for first. */
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
