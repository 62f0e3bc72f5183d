/**
 * The HTTP client that requests of clients are passed on with. It reads no more of an answer than it can give away, so
 * that the end of an answer that was cut off is not lost.
 */
import type { Dispatcher } from "undici";

/** Where requests go. */
export type Place = { readonly socketPath: string } | { readonly host: string; readonly port: number };

export type Upstream = Pick<Dispatcher, "dispatch" | "destroy">;

type PoolClass = new (origin: string, options: Record<string, unknown>) => Upstream;

/** Connections that are kept open for the next request. */
const keepAliveMs = 25_000;

/**
 * Loads the client and opens nothing yet. The package's main module loads everything that it has, which takes 100 ms more
 * than this part of it.
 */
export async function upstreamTo(place: Place): Promise<Upstream> {
  const { default: Pool } = (await import("undici/lib/dispatcher/pool.js" as string)) as { default: PoolClass };
  const origin = "host" in place ? `http://${place.host}:${place.port}` : "http://localhost";
  return new Pool(origin, {
    ...("socketPath" in place ? { socketPath: place.socketPath } : {}),
    connections: null,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 1_048_576,
  });
}

/** Clients of unix sockets, each made when it is asked for first. */
export class Upstreams {
  readonly #known = new Map<string, Promise<Upstream>>();

  to(socketPath: string): Promise<Upstream> {
    let upstream = this.#known.get(socketPath);
    if (upstream === undefined) {
      upstream = upstreamTo({ socketPath });
      this.#known.set(socketPath, upstream);
    }
    return upstream;
  }

  close(): void {
    for (const upstream of this.#known.values()) void upstream.then((one) => one.destroy());
    this.#known.clear();
  }
}
