/**
 * Small writes of many callers in one transaction, to rows of which the callers have the leases: each transaction waits
 * for the disk, and one wait does for all that are asked for in the same turn of the event loop. A write that fails
 * takes none of the others with it.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database, Queries } from "./database.ts";

type Body = (tx: Queries) => Promise<void>;
type Write = { readonly body: Body; readonly resolve: () => void; readonly reject: (error: unknown) => void };

/** A longer transaction would delay other writers. */
const mostWrites = 500;

export class GroupedWrites {
  readonly #db: Database;
  /** Writes that the next transaction carries out. */
  #waiting: Write[] = [];

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Carries out the body, after those that were asked for before it, and resolves with its result when it is durable.
   * After a failure in its group the body is called a second time: it must not change anything but the database.
   */
  async run<T>(body: (tx: Queries) => Promise<T>): Promise<T> {
    let result: T | undefined;
    await new Promise<void>((resolve, reject) => {
      const keepResult = async (tx: Queries) => {
        result = await body(tx);
      };
      this.#waiting.push({ body: keepResult, resolve, reject });
      // The transaction has its place among the other writers from now on; what is asked for meanwhile joins it.
      if (this.#waiting.length === 1) void this.#carryOut();
      else if (this.#waiting.length >= mostWrites) this.#waiting = [];
    });
    return result as T;
  }

  async #carryOut(): Promise<void> {
    const group = this.#waiting;
    const failed = new Map<Write, unknown>();
    try {
      await this.#db.transaction(async (tx) => {
        await nextTurn();
        if (this.#waiting === group) this.#waiting = [];
        // Of an attempt that was taken back.
        failed.clear();
        await allOrEach(tx, group, failed);
      }, "holder");
    } catch (error) {
      if (this.#waiting === group) this.#waiting = [];
      for (const { reject } of group) reject(error);
      return;
    }
    for (const write of group) {
      if (failed.has(write)) write.reject(failed.get(write));
      else write.resolve();
    }
  }
}

/** Carries out all writes; if one fails, each on its own, in the same transaction and order. */
async function allOrEach(tx: Queries, group: readonly Write[], failed: Map<Write, unknown>): Promise<void> {
  const all = async () => {
    for (const { body } of group) await body(tx);
  };
  // The transaction itself is the point to return to.
  if (group.length === 1) return await all();
  if (await returnsOnFailure(tx, all)) return;
  for (const write of group)
    await returnsOnFailure(
      tx,
      () => write.body(tx),
      (error) => failed.set(write, error),
    );
}

/** False when the work has failed, and its changes are taken back. */
async function returnsOnFailure(
  tx: Queries,
  work: () => Promise<void>,
  onFailure: (error: unknown) => void = () => {},
): Promise<boolean> {
  await tx.run("SAVEPOINT write");
  try {
    await work();
    return true;
  } catch (error) {
    await tx.run("ROLLBACK TO write");
    onFailure(error);
    return false;
  } finally {
    await tx.run("RELEASE write");
  }
}
