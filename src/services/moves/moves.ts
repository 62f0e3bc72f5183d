/** Moves of embedded services to external servers: what a move would do, and the loop's pass that carries moves out. */
import { type ClickHouseAddress, ClickHouseClient } from "../../clickhouse/client.ts";
import { describeError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { TaskTable } from "../../lib/task-table.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { LeasedStores, Stores } from "../../store/open.ts";
import type { ServiceConnection } from "../../store/services/service-connections.ts";
import type { ServiceMove } from "../../store/services/service-moves.ts";
import { addressesOf, withOthers } from "../external/addresses.ts";
import { type CatalogueObject, type MoveProblem, readCatalogue } from "./catalogue.ts";
import { Mover, type MoverDeps } from "./mover.ts";
import { forShards } from "./shards.ts";
import { formOf, targetProblems } from "./target.ts";

export type MovesOptions = Omit<MoverDeps, "stores" | "addressesOf" | "together"> & {
  readonly stores: LeasedStores;
  readonly policy: OutgoingPolicy;
  /** Triggers a pass of the moves' loop. */
  readonly again: () => void;
  readonly logger: Logger;
};

export type MovePlan = {
  readonly objects: readonly CatalogueObject[];
  /** What cannot be moved, and stays on the old side if the move is to leave it behind. */
  readonly left: readonly MoveProblem[];
  /** Why the server cannot receive the service. */
  readonly obstacles: readonly MoveProblem[];
};

export class Moves {
  readonly #options: MovesOptions;
  readonly #mover: Mover;
  readonly #tasks: TaskTable;

  constructor(options: MovesOptions) {
    this.#options = options;
    const { stores, policy } = options;
    this.#mover = new Mover({
      ...options,
      addressesOf: (move) => addressesOf(move.connection, passwordOf(stores, move), policy),
      together: (addresses) => together(addresses),
    });
    this.#tasks = new TaskTable({
      poke: options.again,
      onFailure: (moveId, err) => options.logger.warn({ err, moveId }, "attempt of a move failed"),
    });
  }

  /** One pass over all moves. */
  async pass(signal: AbortSignal): Promise<void> {
    const { serviceMoves, leases } = this.#options.stores;
    for (const { id, serviceId } of await serviceMoves.listOpen()) {
      // The engine belongs to the process that has the service.
      if (!leases.holds("service", serviceId)) continue;
      if (this.#tasks.isFree(id)) this.#tasks.run(id, () => this.#attempt(id, signal));
    }
  }

  async close(): Promise<void> {
    await this.#tasks.close();
  }

  /** Wakes the service, or borrows the engine of a stopped one. Throws CONNECTION_* and what the engine says. */
  async plan(
    serviceId: string,
    connection: ServiceConnection,
    password: string,
    signal: AbortSignal,
  ): Promise<MovePlan> {
    const lease = await this.#options.acquire(serviceId, signal);
    try {
      using source = new ClickHouseClient(lease.address);
      using target = new ClickHouseClient(together(addressesOf(connection, password, this.#options.policy)));
      const { objects: all, problems } = await readCatalogue(source, signal);
      const { objects, problems: unshardable } = forShards(await formOf(target, connection), all);
      const pipes = await this.#options.stores.pipes.listIn(serviceId);
      const obstacles = await targetProblems({ source, target, signal }, connection, objects, pipes);
      return { objects, left: [...problems, ...unshardable], obstacles };
    } finally {
      await lease.release();
    }
  }

  async #attempt(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#mover.carry(id, signal);
    } catch (error) {
      if (signal.aborted) return;
      await this.#options.stores.serviceMoves.setMessage(id, describeError(error).slice(0, 500));
      throw error;
    }
  }
}

function passwordOf({ connectionPasswords }: Stores, { serviceId, connectionPassword }: ServiceMove): string {
  return connectionPasswords.open({ id: serviceId, connectionPassword });
}

function together(addresses: readonly ClickHouseAddress[]): ClickHouseAddress {
  const [first] = addresses;
  if (first === undefined) throw new Error("a connection has at least one URL");
  return withOthers(first, addresses);
}
