/**
 * A worker's connection to its service. The lease is acquired when work begins and released shortly after it ends, so
 * that an idle pipe lets its service go idle.
 */
import { ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import type { Calls } from "../protocol.ts";

const lingerMs = 500;

type Opening = { readonly opened: Promise<{ lease: number; client: ClickHouseClient }>; users: number };

export class ServiceLink {
  readonly #calls: Pick<Calls, "acquire" | "release">;
  #current: Opening | undefined;
  #linger: NodeJS.Timeout | undefined;

  constructor(calls: Pick<Calls, "acquire" | "release">) {
    this.#calls = calls;
  }

  /** Runs the work with a client of the service, waking it if needed. */
  async use<T>(work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
    clearTimeout(this.#linger);
    this.#current ??= { opened: this.#acquire(), users: 0 };
    const opening = this.#current;
    opening.users += 1;
    try {
      return await work((await opening.opened).client);
    } catch (error) {
      // No answer: the engine may have been replaced by one at another address, so the next use acquires it again.
      if (!(error instanceof ClickHouseError) && this.#current === opening) this.#current = undefined;
      throw error;
    } finally {
      opening.users -= 1;
      if (opening.users === 0) this.#leave(opening);
    }
  }

  close(): void {
    clearTimeout(this.#linger);
    const opening = this.#current;
    this.#current = undefined;
    if (opening !== undefined && opening.users === 0) this.#release(opening);
  }

  #leave(opening: Opening): void {
    if (this.#current === opening) this.#linger = setTimeout(() => this.close(), lingerMs);
    else this.#release(opening);
  }

  async #acquire() {
    const { lease, address } = await this.#calls.acquire();
    return { lease, client: new ClickHouseClient(address) };
  }

  #release(opening: Opening): void {
    opening.opened
      .then(async ({ lease, client }) => {
        client.close();
        await this.#calls.release(lease);
      })
      // A lease that could not be acquired or released ends with this process.
      .catch(() => {});
  }
}
