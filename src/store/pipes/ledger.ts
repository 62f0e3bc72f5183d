/**
 * The durable side of a pipe's insert order: intents before the insert, checkpoints after it. A confirmation writes
 * checkpoint, marks and counters and removes the intent in one transaction, so that a crash leaves all or none of it.
 */
import { randomUUID } from "node:crypto";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Database, Queries } from "../database/database.ts";
import { GroupedWrites } from "../database/grouped-writes.ts";
import { allLeases, type Leases } from "../nodes/leases.ts";
import {
  carryOutWrites,
  insertIntents,
  type LedgerWrite,
  type StoredConfirmation,
  type StoredIntent,
} from "./ledger-writes.ts";

/** Prevents pipes from starting batches, so that positions and tables are consistent. */
export type Hold = {
  /** The held pipes with an unconfirmed batch. */
  unsettled(): Promise<ReadonlySet<string>>;
  /** Ends the hold; it may be called again. */
  release(): Promise<void>;
};

/** A hold ends by itself when its process is gone. */
const holdMs = 60_000;
const renewHoldMs = 10_000;
/** How soon the end of a hold of another process is seen. */
const heldLookMs = 100;

export class Ledger {
  readonly #db: Database;
  readonly #leases: Leases;
  readonly #writes: GroupedWrites<LedgerWrite>;
  /** Batches that wait for the end of a hold. */
  readonly #waiting = new Set<() => void>();

  /** Every write to a pipe's rows compares the fence of the pipe's lease, and fails with LEASE_LOST. */
  constructor(db: Database, leases: Leases = allLeases("")) {
    this.#db = db;
    this.#leases = leases;
    this.#writes = new GroupedWrites(db, (tx, writes) => carryOutWrites(tx, writes, { leases, nowMs: db.nowMs }));
  }

  /**
   * Prevents these pipes from starting batches until released; batches in progress continue and are confirmed. A hold
   * must be short: the pipes' readers wait. It is in the database, and so holds workers of every process.
   */
  async hold(pipeIds: readonly string[]): Promise<Hold> {
    const holdId = `${this.#leases.nodeId} ${randomUUID()}`;
    await this.#db.transaction(async (tx) => {
      // After every `begin` of another process that has not seen the hold, and before all that will.
      const among = pipeIds.map(() => "?").join(", ");
      if (among !== "")
        await tx.all(
          `SELECT id FROM leases WHERE kind = 'pipe' AND id IN (${among}) ORDER BY id FOR UPDATE`,
          ...pipeIds,
        );
      const add = `INSERT INTO pipe_holds (hold_id, pipe_id, expires_at) VALUES (?, ?, ${this.#db.nowMs} + ${holdMs})`;
      for (const id of pipeIds) await tx.run(add, holdId, id);
    });
    const renew = `UPDATE pipe_holds SET expires_at = ${this.#db.nowMs} + ${holdMs} WHERE hold_id = ?`;
    // A renewal that fails is repeated with the next one, in time.
    const renewal = setInterval(() => void this.#db.run(renew, holdId).catch(() => {}), renewHoldMs).unref();
    return {
      // Queued with the writers, after every `begin` that preceded the hold.
      unsettled: () =>
        this.#db.transaction(async (tx) => {
          const rows = await tx.all<{ pipe_id: string }>("SELECT DISTINCT pipe_id FROM pipe_intents");
          return new Set(rows.map((row) => row.pipe_id).filter((id) => pipeIds.includes(id)));
        }),
      release: async () => {
        clearInterval(renewal);
        await this.#db.run("DELETE FROM pipe_holds WHERE hold_id = ?", holdId);
        for (const wake of this.#waiting) wake();
      },
    };
  }

  /**
   * Saves the intent; waits first while the pipe is held. Once the signal has aborted, nothing is saved any more: the
   * next worker has read the intents, and would leave this one to its successor, which repeats the batch.
   */
  async begin(pipeId: string, intent: StoredIntent, signal?: AbortSignal): Promise<void> {
    while (!(await this.#writes.run({ kind: "begin", pipeId, intent, signal }))) await this.#look();
  }

  /** Resolves when a hold of this process ends, and after a while. */
  async #look(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const timer = setTimeout(resolve, heldLookMs);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  /** Replaces an intent whose insert was refused, atomically and at its position in the lane's order. */
  async replace(pipeId: string, batchId: string, intents: readonly StoredIntent[]): Promise<void> {
    await this.#change(pipeId, async (tx) => {
      const saved = await readIntents(tx, pipeId);
      const at = saved.findIndex((intent) => intent.batchId === batchId);
      const behind = saved.slice(at + 1).filter((intent) => intent.lane === saved[at]?.lane);
      for (const { batchId: id } of [{ batchId }, ...behind]) {
        await tx.run("DELETE FROM pipe_intents WHERE pipe_id = ? AND batch_id = ?", pipeId, id);
      }
      await insertIntents(
        tx,
        [...intents, ...behind].map((intent) => ({ pipeId, intent })),
      );
    });
  }

  async confirm(pipeId: string, done: StoredConfirmation): Promise<void> {
    await this.#writes.run({ kind: "confirm", pipeId, done });
  }

  /** Records marks and counts outside a batch, for example for a skipped object. */
  async note(pipeId: string, marks: Readonly<Record<string, Json>>, counts: Readonly<Record<string, number>>) {
    await this.#writes.run({ kind: "note", pipeId, marks, counts });
  }

  /** Deletes the positions of lanes, and marks, together. */
  async forget(pipeId: string, lanes: readonly string[], marks: readonly string[]): Promise<void> {
    await this.#change(pipeId, async (tx) => {
      for (const lane of lanes) {
        await tx.run("DELETE FROM pipe_checkpoints WHERE pipe_id = ? AND lane = ?", pipeId, lane);
      }
      for (const key of marks) await tx.run("DELETE FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?", pipeId, key);
    });
  }

  async #change(pipeId: string, body: (tx: Queries) => Promise<void>): Promise<void> {
    await this.#db.transaction(async (tx) => {
      await this.#leases.require(tx, "pipe", pipeId);
      await body(tx);
    }, "holder");
  }

  /**
   * In the order of confirmation within their lanes; with every batch whose begin was requested before, also if the
   * connection was lost before the answer.
   */
  async intents(pipeId: string): Promise<StoredIntent[]> {
    return await this.#db.transaction(async (tx) => {
      // A commit whose connection is lost may still wait for a standby: every write locks the lease until its end.
      await tx.all("SELECT id FROM leases WHERE kind = 'pipe' AND id = ? FOR UPDATE", pipeId);
      return await readIntents(tx, pipeId);
    }, "holder");
  }

  async checkpoints(pipeId: string): Promise<Record<string, Json>> {
    const rows = await this.#db.all<{ lane: string; checkpoint: string }>(
      "SELECT lane, checkpoint FROM pipe_checkpoints WHERE pipe_id = ?",
      pipeId,
    );
    return Object.fromEntries(rows.map((row) => [row.lane, JSON.parse(row.checkpoint) as Json]));
  }

  async marks(pipeId: string, keys: readonly string[]): Promise<Record<string, Json>> {
    const found: Record<string, Json> = {};
    for (let at = 0; at < keys.length; at += 500) {
      const part = keys.slice(at, at + 500);
      const rows = await this.#db.all<{ mark_key: string; mark: string }>(
        `SELECT mark_key, mark FROM pipe_marks WHERE pipe_id = ? AND mark_key IN (${part.map(() => "?").join(", ")})`,
        pipeId,
        ...part,
      );
      for (const row of rows) found[row.mark_key] = JSON.parse(row.mark) as Json;
    }
    return found;
  }
}

async function readIntents(tx: Queries, pipeId: string): Promise<StoredIntent[]> {
  const rows = await tx.all<{ batch_id: string; lane: string; intent: string }>(
    "SELECT batch_id, lane, intent FROM pipe_intents WHERE pipe_id = ? ORDER BY seq",
    pipeId,
  );
  return rows.map((row) => ({ batchId: row.batch_id, lane: row.lane, intent: JSON.parse(row.intent) as JsonObject }));
}
