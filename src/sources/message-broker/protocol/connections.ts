/** Connections to the brokers of one cluster, one to each, opened on first use. */
import type { BrokerAccess, BrokerAddress } from "../access.ts";
import { Connection } from "./connection.ts";

export class BrokerConnections {
  readonly #access: BrokerAccess;
  readonly #clientId: string;
  readonly #open = new Map<string, Promise<Connection>>();
  #closed = false;

  constructor(access: BrokerAccess, clientId: string) {
    this.#access = access;
    this.#clientId = clientId;
  }

  /** The connection to a broker; a new one when the last has ended. */
  async get(address: BrokerAddress): Promise<Connection> {
    const key = `${address.host}:${address.port}`;
    const known = this.#open.get(key);
    if (known !== undefined) {
      const connection = await known;
      if (connection.usable) return connection;
      // The first caller that notices opens the next one.
      if (this.#open.get(key) !== known) return await this.get(address);
      connection.retire();
    }
    if (this.#closed) throw new Error("the connection was closed");
    const opening = Connection.open(address, this.#access, this.#clientId);
    this.#open.set(key, opening);
    try {
      const connection = await opening;
      if (!this.#closed) return connection;
      connection.close();
      throw new Error("the connection was closed");
    } catch (error) {
      if (this.#open.get(key) === opening) this.#open.delete(key);
      throw error;
    }
  }

  /** A connection to the first reachable broker. Rejects with the reasons of all. */
  async any(addresses: readonly BrokerAddress[]): Promise<Connection> {
    const reasons: unknown[] = [];
    for (const address of addresses) {
      try {
        return await this.get(address);
      } catch (error) {
        reasons.push(error);
      }
    }
    throw reasons.length === 1 ? reasons[0] : new AggregateError(reasons, "no broker can be reached");
  }

  close(): void {
    this.#closed = true;
    for (const opening of this.#open.values()) opening.then((connection) => connection.close()).catch(() => {});
    this.#open.clear();
  }
}
