/**
 * Carries out a move: copies while the service goes on, then stops it for the last part and switches. Every step can be
 * repeated. Until the switch, which is one transaction of the store, the old side is the service and is complete.
 */
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { type ClickHouseAddress, ClickHouseClient } from "../../clickhouse/client.ts";
import type { AcquireEngine } from "../../clickhouse/lease.ts";
import { identifier, tableName } from "../../clickhouse/sql.ts";
import { sleep } from "../../lib/abort.ts";
import { AppError, describeError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { settled } from "../../store/database/settled.ts";
import type { Stores } from "../../store/open.ts";
import type { Hold } from "../../store/pipes/ledger.ts";
import type { MovedTable } from "../../store/services/service-move-contents.ts";
import type { ServiceMove } from "../../store/services/service-moves.ts";
import { type CatalogueObject, readCatalogue } from "./catalogue.ts";
import { type CopyDeps, copyParts, dropPartition, storedColumnsOf } from "./parts.ts";
import { forShards, shardObstacles } from "./shards.ts";
import { completeTarget, formOf, labelOf, prepareTarget, removeFromTarget, reopenTarget } from "./target.ts";

export type MoverDeps = {
  readonly stores: Pick<
    Stores,
    "services" | "serviceMoves" | "serviceMoveContents" | "ledger" | "pipeSnapshots" | "pipes"
  >;
  readonly acquire: AcquireEngine;
  /** The addresses of the server's hosts, in order. */
  readonly addressesOf: (move: ServiceMove) => readonly ClickHouseAddress[];
  /** The first address, with the others that are asked when it does not answer. */
  readonly together: (addresses: readonly ClickHouseAddress[]) => ClickHouseAddress;
  readonly folderOf: (serviceId: string) => string;
  readonly pickPort: () => Promise<number>;
  /** Triggers the loop that starts and stops services. */
  readonly poke: () => void;
  readonly logger: Logger;
};

/** A round that copies less is followed by the switch. */
const fewBytes = 64 * 2 ** 20;
const stopMs = 60_000;
/** Time for replicas to fetch what another one has. */
const arrivalMs = 60_000;
const lookMs = 250;
/** Time for a server to come back that has what a cancelled move made there. */
const removalMs = 20_000;

export class Mover {
  readonly #deps: MoverDeps;
  /** When the removal of what a cancelled move has made failed first, by the move's id. */
  readonly #removalFailedAt = new Map<string, number>();

  constructor(deps: MoverDeps) {
    this.#deps = deps;
  }

  /** One attempt, from wherever the last one ended. Rejects with the reason to show; the next attempt continues. */
  async carry(moveId: string, signal: AbortSignal): Promise<void> {
    const { serviceMoves } = this.#deps.stores;
    const move = await serviceMoves.find(moveId);
    if (move === undefined || move.finishedAt !== null) return;
    if (move.status === "switching") await this.#abandonSwitch(move);
    if (move.cancelRequested) return await this.#cancel(move, signal);
    await this.#withSides(move, signal, (sides) => this.#copy(move, sides));
    try {
      await this.#switch(move, signal);
    } catch (error) {
      if (!signal.aborted) await this.#abandonSwitch(move);
      throw error;
    }
  }

  /** Rounds get shorter, because each copies what has arrived during the one before. */
  async #copy(move: ServiceMove, sides: CopyDeps): Promise<void> {
    await reopenTarget(sides);
    for (;;) {
      const objects = await this.#objects(move, sides);
      await prepareTarget(sides, objects);
      const bytes = await this.#round(move, sides, objects);
      if (bytes < fewBytes) break;
    }
    await this.#deps.stores.serviceMoves.setMessage(move.id, null);
  }

  async #round(move: ServiceMove, sides: CopyDeps, objects: readonly CatalogueObject[]): Promise<number> {
    let bytes = 0;
    for (const { database, name } of storedTablesOf(objects)) {
      await sides.source.command(`SYSTEM STOP MERGES ${tableName(database, name)}`, { signal: sides.signal });
      bytes += await copyParts(sides, { database, name });
    }
    const sizes = (of: (object: CatalogueObject) => number) => objects.reduce((sum, object) => sum + of(object), 0);
    await this.#deps.stores.serviceMoves.setTotals(
      move.id,
      sizes((one) => one.rows),
      sizes((one) => one.bytes),
    );
    return bytes;
  }

  /** The service is stopped and nothing writes to it. Its engine is started for the move alone. */
  async #switch(move: ServiceMove, signal: AbortSignal): Promise<void> {
    const hold = await holdPipes(this.#deps.stores, move.serviceId, signal);
    try {
      await this.#stopService(move, signal);
    } finally {
      await hold.release();
    }
    await this.#withSides(move, signal, async (sides) => {
      const objects = await this.#objects(move, sides);
      await prepareTarget(sides, objects);
      await this.#round(move, sides, objects);
      await this.#compare(move, sides, objects);
      await completeTarget(sides, objects);
    });
    await this.#switchOver(move);
  }

  /** Clients are answered as by a stopped service from here on. */
  async #stopService({ id, serviceId }: ServiceMove, signal: AbortSignal): Promise<void> {
    await this.#deps.stores.serviceMoves.beginSwitch({ id, serviceId });
    this.#deps.poke();
    const deadline = performance.now() + stopMs;
    while ((await this.#deps.stores.services.find(serviceId))?.state !== "stopped") {
      if (performance.now() > deadline)
        throw new AppError("TIMEOUT", "The service did not stop in time for the last part.");
      await sleep(lookMs, signal);
      signal.throwIfAborted();
    }
  }

  /** The folder first: a service that starts must find its own. `#abandonSwitch` takes it back. */
  async #switchOver(move: ServiceMove): Promise<void> {
    const { services, serviceMoves } = this.#deps.stores;
    const service = await services.find(move.serviceId);
    if (service === undefined) throw new AppError("SERVICE_UNAVAILABLE", "The service does not exist any more.");
    const name = `${service.name.slice(0, 50 - oldSuffix.length)}${oldSuffix}`;
    const port = await this.#deps.pickPort();
    const folder = this.#deps.folderOf(move.serviceId);
    if (existsSync(folder)) await rename(folder, this.#deps.folderOf(move.id));
    await serviceMoves.switchOver(move, { id: move.id, name, port });
    this.#deps.logger.info({ serviceId: move.serviceId, oldServiceId: move.id }, "service moved");
    this.#deps.poke();
  }

  /** The folder of the old side has the move's id, which becomes that of its service. */
  async #abandonSwitch(move: ServiceMove): Promise<void> {
    const moved = this.#deps.folderOf(move.id);
    if (existsSync(moved)) await rename(moved, this.#deps.folderOf(move.serviceId));
    await this.#deps.stores.serviceMoves.abandonSwitch(move);
    this.#deps.poke();
  }

  async #cancel(move: ServiceMove, signal: AbortSignal): Promise<void> {
    let stays: string | null = null;
    try {
      await this.#withSides(move, signal, removeFromTarget);
    } catch (error) {
      signal.throwIfAborted();
      const since = this.#removalFailedAt.get(move.id) ?? performance.now();
      this.#removalFailedAt.set(move.id, since);
      if (performance.now() - since < removalMs) throw error;
      // A server that is gone for good may not hold the service in its move.
      stays = `What the move has made on the server stays there: ${describeError(error)}`.slice(0, 500);
    }
    await this.#startMerges(move, signal);
    await this.#deps.stores.serviceMoves.cancelled(move, stays);
    this.#removalFailedAt.delete(move.id);
    this.#deps.poke();
  }

  async #startMerges({ serviceId }: ServiceMove, signal: AbortSignal): Promise<void> {
    const lease = await this.#deps.acquire(serviceId, signal);
    try {
      using source = new ClickHouseClient(lease.address);
      for (const { database, name } of storedTablesOf((await readCatalogue(source, signal)).objects)) {
        await source.command(`SYSTEM START MERGES ${tableName(database, name)}`, { signal });
      }
    } finally {
      await lease.release();
    }
  }

  /** What is moved. Throws when something cannot be, unless it is to be left behind. */
  async #objects(move: ServiceMove, { source, form, signal }: CopyDeps): Promise<readonly CatalogueObject[]> {
    const catalogue = await readCatalogue(source, signal);
    const { objects, problems } = forShards(form, catalogue.objects);
    const [obstacle] = shardObstacles(form, await this.#deps.stores.pipes.listIn(move.serviceId));
    if (obstacle !== undefined) throw new AppError("CONFLICT", `The service cannot be moved: ${obstacle.message}.`);
    const [first] = [...catalogue.problems, ...problems];
    if (first !== undefined && !move.leaveBehind) {
      throw new AppError("CONFLICT", `${first.object ?? "The service"}: ${first.message}.`);
    }
    return objects;
  }

  /** Every host that answers must have the same rows as the source. */
  async #compare(move: ServiceMove, sides: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
    for (const { database, name, engine } of storedTablesOf(objects)) {
      const columns = await storedColumnsOf(sides.source, { database, name }, sides.signal);
      const table = { database, name, engine, columns };
      const wanted = await sumsOf(sides.source, table, sides.signal);
      const differ = await this.#differing(move, sides, wanted, (client) => sumsOf(client, table, sides.signal));
      if (differ.length === 0) continue;
      for (const partition of differ) await dropPartition(sides, table, partition);
      const label = labelOf(table);
      throw new AppError(
        "CONFLICT",
        `${differ.length} partitions of ${label} differed from the source; they are copied again.`,
      );
    }
  }

  async #differing(
    move: ServiceMove,
    { signal, form }: CopyDeps,
    wanted: ReadonlyMap<string, string>,
    look: (client: ClickHouseClient) => Promise<ReadonlyMap<string, string>>,
  ): Promise<string[]> {
    const addresses = this.#deps.addressesOf(move);
    let answered = 0;
    let failure: unknown;
    for (const address of addresses) {
      using client = new ClickHouseClient(address);
      const deadline = performance.now() + (addresses.length > 1 || form.isReplicated ? arrivalMs : 0);
      try {
        let differ = differences(wanted, await look(client));
        while (differ.length > 0 && performance.now() < deadline) {
          await sleep(lookMs, signal);
          signal.throwIfAborted();
          differ = differences(wanted, await look(client));
        }
        if (differ.length > 0) return differ;
        answered += 1;
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    if (answered === 0) throw failure;
    return [];
  }

  /** Both sides for as long as `work` needs them. */
  async #withSides(move: ServiceMove, signal: AbortSignal, work: (sides: CopyDeps) => Promise<void>): Promise<void> {
    const lease = await this.#deps.acquire(move.serviceId, signal);
    const { services, serviceMoves, serviceMoveContents: contents } = this.#deps.stores;
    const desired = (await services.find(move.serviceId))?.desiredState;
    const check = async () => {
      signal.throwIfAborted();
      const now = await serviceMoves.find(move.id);
      if (now?.cancelRequested === true && !move.cancelRequested)
        throw new AppError("CONFLICT", "The move is cancelled.");
      // The borrowed engine of a stopped service would hold up its start.
      if ((await services.find(move.serviceId))?.desiredState !== desired) {
        throw new AppError("CONFLICT", "The service was started or stopped meanwhile; the move continues.");
      }
    };
    try {
      using source = new ClickHouseClient(lease.address);
      using target = new ClickHouseClient(this.#deps.together(this.#deps.addressesOf(move)));
      const form = await formOf(target, move.connection);
      await work({ moveId: move.id, contents, source, target, form, signal, check });
    } finally {
      await lease.release();
    }
  }
}

const oldSuffix = " (before the move)";

/** Tables that have rows: one with the engine Null has none. */
function storedTablesOf(objects: readonly CatalogueObject[]): CatalogueObject[] {
  return objects.filter(({ kind, engine }) => kind === "table" && engine.endsWith("MergeTree"));
}

/** Compares the rows of a table on both sides: their number and a checksum of all values, by partition. */
type Compared = MovedTable & {
  readonly engine: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
};

type Sums = ReadonlyMap<string, string>;

/** Count and checksum of each partition that has rows. Throws ClickHouseError. */
async function sumsOf(client: ClickHouseClient, table: Compared, signal: AbortSignal): Promise<Sums> {
  // Without aliases, which could be names of the table's columns.
  const text = await client.text(
    `SELECT _partition_id, count(), ${hashOf(table)}
     FROM ${tableName(table.database, table.name)}${combines(table.engine) ? " FINAL" : ""}
     GROUP BY _partition_id FORMAT TSV`,
    { signal, settings: { ...readSettings, log_queries: 0 } },
  );
  const rows = text.split("\n").filter((line) => line !== "");
  return new Map(rows.map((line) => [line.split("\t")[0] as string, line]));
}

/** The partitions whose rows differ. */
function differences(source: Sums, target: Sums): string[] {
  const partitions = [...new Set([...source.keys(), ...target.keys()])];
  return partitions.filter((partition) => source.get(partition) !== target.get(partition));
}

/** Rows of one key become one, at another time on each side: what a query with FINAL shows is compared. */
function combines(engine: string): boolean {
  return engine !== "MergeTree";
}

/**
 * Sums of hashes do not depend on the order of rows. Where the engine adds values up, those of states and floats depend
 * on the order of additions, and are left out.
 */
function hashOf({ engine, columns }: Compared): string {
  const adds = /^(Summing|Aggregating)MergeTree$/.test(engine);
  const exact = columns.filter(({ type }) => !adds || !/AggregateFunction|Float/.test(type));
  if (exact.length === 0) return "0";
  const list = exact.map(({ name }) => identifier(name)).join(", ");
  return `sum(cityHash64(formatRowNoNewline('RowBinary', ${list})))`;
}

const readSettings = { do_not_merge_across_partitions_select_final: 1, max_execution_time: 0 };

/**
 * Resolves when no pipe has a batch between its intent and its confirmation: then the tables contain everything up to
 * the positions of the pipes and nothing after them. Throws CONFLICT with the pipes whose batches do not end. Release
 * the hold once the engine is out of reach of the pipes.
 */
async function holdPipes(
  { ledger, pipeSnapshots, pipes }: Pick<Stores, "ledger" | "pipeSnapshots" | "pipes">,
  serviceId: string,
  signal: AbortSignal,
): Promise<Hold> {
  const ids = (await pipeSnapshots.listIn(serviceId)).map(({ id }) => id);
  const hold = await ledger.hold(ids);
  try {
    const unsettled = await settled(hold, ids, signal);
    if (unsettled.size === 0) return hold;
    throw notSettled((await pipes.listIn(serviceId)).filter(({ id }) => unsettled.has(id)));
  } catch (error) {
    await hold.release();
    throw error;
  }
}

function notSettled(pipes: readonly { readonly name: string }[]): AppError {
  const names = pipes.map(({ name }) => `"${name}"`).join(", ");
  const message = `A batch of ${names} was begun and has not ended: start a stopped pipe so that it ends its batch, or delete it.`;
  return new AppError("CONFLICT", message);
}
