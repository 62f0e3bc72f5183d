/**
 * The durable side of a pipe's insert order: intents before the insert, checkpoints after it. A confirmation writes
 * checkpoint, marks and counters and removes the intent in one transaction, so that a crash leaves all or none of it.
 */
import { randomUUID } from "node:crypto";
import type { Json, JsonObject } from "../lib/json.ts";
import type { Database, Queries } from "./database.ts";
import { GroupedWrites } from "./grouped-writes.ts";
import { allLeases, type Leases } from "./leases.ts";
import { recordBatch } from "./pipe-batches.ts";

export type StoredIntent = {
  readonly batchId: string;
  readonly lane: string;
  /** `Batch.replay` and what the runner adds to it: token and insert settings. */
  readonly intent: JsonObject;
};

export type StoredConfirmation = {
  readonly batchId: string;
  readonly lane: string;
  /** Absent: the lane has no position. */
  readonly checkpoint?: Json;
  readonly marks: Readonly<Record<string, Json>>;
  readonly counts: Readonly<Record<string, number>>;
};

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
  readonly #writes: GroupedWrites;
  /** Batches that wait for the end of a hold. */
  readonly #waiting = new Set<() => void>();

  /** Every write to a pipe's rows compares the fence of the pipe's lease, and fails with LEASE_LOST. */
  constructor(db: Database, leases: Leases = allLeases("")) {
    this.#db = db;
    this.#leases = leases;
    this.#writes = new GroupedWrites(db);
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
        this.#writes.run(async (tx) => {
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

  /** Saves the intent; waits first while the pipe is held, until the signal aborts. */
  async begin(pipeId: string, intent: StoredIntent, signal?: AbortSignal): Promise<void> {
    const held = `SELECT 1 AS held FROM pipe_holds WHERE pipe_id = ? AND expires_at > ${this.#db.nowMs} LIMIT 1`;
    const tryBegin = async (tx: Queries) => {
      signal?.throwIfAborted();
      // The lease first: a hold waits for it, and is seen after it.
      const [, found] = await Promise.all([this.#leases.require(tx, "pipe", pipeId), tx.get(held, pipeId)]);
      if (found === undefined) await writeIntent(tx, pipeId, intent);
      return found === undefined;
    };
    while (!(await this.#writes.run(tryBegin))) await this.#look();
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
    await this.#writes.run(async (tx) => {
      await this.#leases.require(tx, "pipe", pipeId);
      const saved = await readIntents(tx, pipeId);
      const at = saved.findIndex((intent) => intent.batchId === batchId);
      const behind = saved.slice(at + 1).filter((intent) => intent.lane === saved[at]?.lane);
      for (const { batchId: id } of [{ batchId }, ...behind]) {
        await tx.run("DELETE FROM pipe_intents WHERE pipe_id = ? AND batch_id = ?", pipeId, id);
      }
      for (const intent of [...intents, ...behind]) await writeIntent(tx, pipeId, intent);
    });
  }

  async confirm(pipeId: string, done: StoredConfirmation): Promise<void> {
    await this.#writes.run(async (tx) => {
      const now = new Date().toISOString();
      // Sent together, and carried out in this order: the batch is recorded while its intent is there.
      await Promise.all([
        this.#leases.require(tx, "pipe", pipeId),
        recordBatch(tx, pipeId, done),
        tx.run("DELETE FROM pipe_intents WHERE pipe_id = ? AND batch_id = ?", pipeId, done.batchId),
        done.checkpoint === undefined ? undefined : writeCheckpoint(tx, pipeId, done.lane, done.checkpoint),
        writeMarks(tx, pipeId, done.marks),
        addCounts(tx, pipeId, done.counts),
        tx.run(
          `INSERT INTO pipe_outcomes (pipe_id, last_success_at) VALUES (?, ?)
           ON CONFLICT (pipe_id) DO UPDATE SET last_success_at = excluded.last_success_at`,
          ...[pipeId, now],
        ),
      ]);
    });
  }

  /** Records marks and counts outside a batch, for example for a skipped object. */
  async note(pipeId: string, marks: Readonly<Record<string, Json>>, counts: Readonly<Record<string, number>>) {
    await this.#writes.run(async (tx) => {
      await this.#leases.require(tx, "pipe", pipeId);
      await writeMarks(tx, pipeId, marks);
      await addCounts(tx, pipeId, counts);
    });
  }

  /** Deletes the positions of lanes, and marks, together. */
  async forget(pipeId: string, lanes: readonly string[], marks: readonly string[]): Promise<void> {
    await this.#writes.run(async (tx) => {
      await this.#leases.require(tx, "pipe", pipeId);
      for (const lane of lanes) {
        await tx.run("DELETE FROM pipe_checkpoints WHERE pipe_id = ? AND lane = ?", pipeId, lane);
      }
      for (const key of marks) await tx.run("DELETE FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?", pipeId, key);
    });
  }

  /** In the order of confirmation within their lanes. */
  async intents(pipeId: string): Promise<StoredIntent[]> {
    return await readIntents(this.#db, pipeId);
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

async function writeIntent(tx: Queries, pipeId: string, intent: StoredIntent): Promise<void> {
  await tx.run(
    `INSERT INTO pipe_intents (pipe_id, batch_id, lane, intent, created_at, seq)
     SELECT ?, ?, ?, ?, ?, coalesce(max(seq), 0) + 1 FROM pipe_intents WHERE pipe_id = ?
     ON CONFLICT (pipe_id, batch_id) DO NOTHING`,
    ...[pipeId, intent.batchId, intent.lane, JSON.stringify(intent.intent), new Date().toISOString(), pipeId],
  );
}

async function writeCheckpoint(tx: Queries, pipeId: string, lane: string, checkpoint: Json): Promise<void> {
  await tx.run(
    `INSERT INTO pipe_checkpoints (pipe_id, lane, checkpoint, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (pipe_id, lane) DO UPDATE SET checkpoint = excluded.checkpoint, updated_at = excluded.updated_at`,
    ...[pipeId, lane, JSON.stringify(checkpoint), new Date().toISOString()],
  );
}

async function writeMarks(tx: Queries, pipeId: string, marks: Readonly<Record<string, Json>>): Promise<void> {
  const sql = `INSERT INTO pipe_marks (pipe_id, mark_key, mark) VALUES (?, ?, ?)
     ON CONFLICT (pipe_id, mark_key) DO UPDATE SET mark = excluded.mark`;
  await Promise.all(Object.entries(marks).map(([key, mark]) => tx.run(sql, pipeId, key, JSON.stringify(mark))));
}

async function addCounts(tx: Queries, pipeId: string, counts: Readonly<Record<string, number>>): Promise<void> {
  const sql = `INSERT INTO pipe_counters (pipe_id, name, value) VALUES (?, ?, ?)
     ON CONFLICT (pipe_id, name) DO UPDATE SET value = pipe_counters.value + excluded.value`;
  await Promise.all(Object.entries(counts).map(([name, value]) => tx.run(sql, pipeId, name, value)));
}
