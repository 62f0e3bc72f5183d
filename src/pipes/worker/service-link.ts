/**
 * A worker's connection to its service. The lease is acquired when work begins and released shortly after it ends, so
 * that an idle pipe lets its service go idle.
 */
import { type ClickHouseAddress, ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { serverAgent } from "../../outgoing/http.ts";
import { managedPolicy, type OutgoingPolicy } from "../../outgoing/policy.ts";
import { loginCodes } from "../failures.ts";
import type { Calls } from "../protocol.ts";

const lingerMs = 500;
/** A changed connection of an external service is used by work that begins this much later. */
const externalLeaseMs = 5_000;

type Opening = {
  readonly opened: Promise<{ lease: number; client: ClickHouseClient }>;
  readonly since: number;
  isExternal: boolean;
  users: number;
};

export class ServiceLink {
  readonly #calls: Pick<Calls, "acquire" | "release">;
  readonly #policy: OutgoingPolicy;
  #current: Opening | undefined;
  #linger: NodeJS.Timeout | undefined;

  /** `policy` is for services whose server is not an engine of this program. */
  constructor(calls: Pick<Calls, "acquire" | "release">, policy: OutgoingPolicy) {
    this.#calls = calls;
    this.#policy = policy;
  }

  /** Runs the work with a client of the service, waking it if needed. */
  async use<T>(work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
    clearTimeout(this.#linger);
    if (this.#isOutdated()) this.close();
    this.#current ??= this.#open();
    const opening = this.#current;
    opening.users += 1;
    try {
      return await work((await opening.opened).client);
    } catch (error) {
      // No answer: the engine may have been replaced by one at another address, so the next use acquires it again. The
      // same holds for a password that has changed.
      const answered = error instanceof ClickHouseError && !loginCodes.has(error.code);
      if (!answered && this.#current === opening) this.#current = undefined;
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

  #open(): Opening {
    const acquired = this.#calls.acquire();
    const opened = acquired.then(({ lease, address }) => {
      opening.isExternal = address.isExternal === true;
      return { lease, client: new ClickHouseClient(this.#reached(address)) };
    });
    const opening: Opening = { opened, since: performance.now(), isExternal: false, users: 0 };
    return opening;
  }

  #reached(address: ClickHouseAddress): ClickHouseAddress {
    if (address.isExternal !== true) return address;
    const policy = address.isManaged === true ? managedPolicy : this.#policy;
    const dialer = new Dialer(policy, "connection.urls");
    return { ...address, openAgent: () => serverAgent(dialer, address.tls) };
  }

  #isOutdated(): boolean {
    return this.#current?.isExternal === true && performance.now() - this.#current.since > externalLeaseMs;
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
