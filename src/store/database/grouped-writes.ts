/**
 * Small writes of many callers in one transaction, to rows of which the callers have the leases: each transaction waits
 * for the disk, and one wait does for all that are asked for in the same turn of the event loop. A write that fails
 * takes none of the others with it.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database, Queries } from "./database.ts";

/** What becomes of one write of a group. */
export type WriteOutcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Carries out writes together, in their order as far as it matters, and returns the outcome of each. It may refuse
 * single ones with an error; it throws when it cannot carry them out together.
 */
export type CarryOut<Write> = (tx: Queries, writes: readonly Write[]) => Promise<readonly WriteOutcome[]>;

type Waiting<Write> = {
  readonly write: Write;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A longer transaction would delay other writers. */
const mostWrites = 500;

export class GroupedWrites<Write> {
  readonly #db: Database;
  readonly #carryOut: CarryOut<Write>;
  /** Writes that the next transaction carries out. */
  #waiting: Waiting<Write>[] = [];

  constructor(db: Database, carryOut: CarryOut<Write>) {
    this.#db = db;
    this.#carryOut = carryOut;
  }

  /**
   * Carries out the write after those that were asked for in earlier turns, and resolves with its value when it is
   * durable. After a failure in its group it is carried out a second time, alone.
   */
  run(write: Write): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      // The transaction has its place among the other writers from now on; what is asked for meanwhile joins it.
      if (this.#waiting.length === 1) void this.#transact();
      else if (this.#waiting.length >= mostWrites) this.#waiting = [];
    });
  }

  async #transact(): Promise<void> {
    const group = this.#waiting;
    let outcomes: readonly WriteOutcome[] = [];
    try {
      await this.#db.transaction(async (tx) => {
        await nextTurn();
        if (this.#waiting === group) this.#waiting = [];
        outcomes = await this.#allOrEach(
          tx,
          group.map(({ write }) => write),
        );
      }, "holder");
    } catch (error) {
      if (this.#waiting === group) this.#waiting = [];
      for (const { reject } of group) reject(error);
      return;
    }
    for (const [at, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[at] as WriteOutcome;
      if ("error" in outcome) reject(outcome.error);
      else resolve(outcome.value);
    }
  }

  /** Carries out all writes together; if that fails, each on its own, in the same transaction and order. */
  async #allOrEach(tx: Queries, writes: readonly Write[]): Promise<readonly WriteOutcome[]> {
    // The transaction itself is the point to return to.
    if (writes.length === 1) return await this.#carryOut(tx, writes);
    const together = await withSavepoint(tx, () => this.#carryOut(tx, writes));
    if (!("error" in together)) return together.value;
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const alone = await withSavepoint(tx, () => this.#carryOut(tx, [write]));
      outcomes.push("error" in alone ? alone : (alone.value[0] as WriteOutcome));
    }
    return outcomes;
  }
}

/** The changes of work that fails are taken back. */
async function withSavepoint<T>(tx: Queries, work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> {
  // Sent together with the first statement of the work, which cannot be carried out before it.
  const saved = tx.run("SAVEPOINT write");
  saved.catch(() => {});
  try {
    const value = await work();
    await saved;
    return { value };
  } catch (error) {
    await saved;
    await tx.run("ROLLBACK TO write");
    return { error };
  } finally {
    await tx.run("RELEASE write");
  }
}
