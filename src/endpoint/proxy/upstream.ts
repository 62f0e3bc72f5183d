/**
 * The HTTP client that requests of clients are passed on with. It reads no more of an answer than it can give away, so
 * that the end of an answer that was cut off is not lost.
 */
import type { Dispatcher } from "undici";

/** The front of an engine host, for requests that the gateway carries: a loopback port that answers to a key only. */
export type FrontAddress = { readonly port: number; readonly key: string };

export type Upstream = Pick<Dispatcher, "dispatch" | "destroy">;

type PoolClass = new (origin: string, options: Record<string, unknown>) => Upstream;

/** Connections that are kept open for the next request. */
const keepAliveMs = 25_000;

/**
 * A client of a loopback port, with nothing open yet. The package's main module loads everything that it has, which takes 100 ms more
 * than this part of it.
 */
export async function upstreamTo(port: number): Promise<Upstream> {
  const { default: Pool } = (await import("undici/lib/dispatcher/pool.js" as string)) as { default: PoolClass };
  return new Pool(`http://127.0.0.1:${port}`, {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 1_048_576,
  });
}

/** Clients of ports, each made when it is asked for first. */
export class Upstreams {
  readonly #known = new Map<number, Promise<Upstream>>();

  to(port: number): Promise<Upstream> {
    let upstream = this.#known.get(port);
    if (upstream === undefined) {
      upstream = upstreamTo(port);
      this.#known.set(port, upstream);
    }
    return upstream;
  }

  close(): void {
    for (const upstream of this.#known.values()) void upstream.then((one) => one.destroy());
    this.#known.clear();
  }
}
