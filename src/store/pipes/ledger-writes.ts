/**
 * The writes of pipe workers, of which many are carried out with one statement for each table. Nothing depends on the
 * order of a group's writes but marks and checkpoints of the same name, of which the last one stays: a batch begins
 * and is confirmed in different groups, because its worker waits for the first one.
 */
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Queries, SqlValue } from "../database/database.ts";
import type { WriteOutcome } from "../database/grouped-writes.ts";
import { runForRows } from "../database/row-values.ts";
import { type Leases, leaseLost } from "../nodes/leases.ts";
import { recordBatches } from "./pipe-batches.ts";

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

/** The value of a `begin` is false, and nothing is written, while the pipe is held. An aborted signal refuses it. */
export type LedgerWrite = { readonly pipeId: string } & (
  | { readonly kind: "begin"; readonly intent: StoredIntent; readonly signal?: AbortSignal | undefined }
  | { readonly kind: "confirm"; readonly done: StoredConfirmation }
  | {
      readonly kind: "note";
      readonly marks: Readonly<Record<string, Json>>;
      readonly counts: Readonly<Record<string, number>>;
    }
);

export type Fencing = { readonly leases: Leases; readonly nowMs: string };

/** Carries out the writes together. Those of pipes whose lease is lost are refused with LEASE_LOST. */
export async function carryOutWrites(
  tx: Queries,
  writes: readonly LedgerWrite[],
  { leases, nowMs }: Fencing,
): Promise<readonly WriteOutcome[]> {
  // The leases first: a hold waits for them, and is seen after them.
  const lost = await leases.lost(tx, "pipe", [...new Set(writes.map(({ pipeId }) => pipeId))]);
  const held = await heldAmong(tx, writes, nowMs);
  const refusals = new Map<LedgerWrite, unknown>();
  for (const write of writes) {
    if (lost.has(write.pipeId)) refusals.set(write, leaseLost("pipe"));
    else if (write.kind === "begin" && write.signal?.aborted === true) refusals.set(write, write.signal.reason);
  }
  const mine = writes.filter((write) => !refusals.has(write));
  const begun = mine.flatMap((write) => (write.kind === "begin" && !held.has(write.pipeId) ? [write] : []));
  const confirmed = mine.flatMap((write) => (write.kind === "confirm" ? [write] : []));
  const noted = mine.flatMap(({ pipeId, ...write }) => {
    if (write.kind === "begin") return [];
    const { marks, counts } = write.kind === "confirm" ? write.done : write;
    return [{ pipeId, marks, counts }];
  });
  // Sent together, and carried out in this order: a batch is recorded while its intent is there.
  await Promise.all([
    insertIntents(tx, begun),
    ...confirmAll(tx, confirmed),
    upsertMarks(tx, noted),
    addCounts(tx, noted),
  ]);
  const isBegun = new Set<LedgerWrite>(begun);
  return writes.map((write): WriteOutcome => {
    if (refusals.has(write)) return { error: refusals.get(write) };
    return { value: write.kind === "begin" ? isBegun.has(write) : undefined };
  });
}

/** Adds intents behind those that the pipes have. One that is there already stays. */
export async function insertIntents(
  tx: Queries,
  begun: readonly { readonly pipeId: string; readonly intent: StoredIntent }[],
): Promise<void> {
  const now = new Date().toISOString();
  const behind = new Map<string, number>();
  const rows = begun.map(({ pipeId, intent }) => {
    const nth = (behind.get(pipeId) ?? 0) + 1;
    behind.set(pipeId, nth);
    return [pipeId, intent.batchId, intent.lane, JSON.stringify(intent.intent), now, nth];
  });
  await runForRows(
    tx,
    rows,
    (values) =>
      `INSERT INTO pipe_intents (pipe_id, batch_id, lane, intent, created_at, seq)
       SELECT column1, column2, column3, column4, column5, column6 +
         coalesce((SELECT max(seq) FROM pipe_intents AS present WHERE present.pipe_id = column1), 0)
       FROM (${values}) AS given WHERE 1 = 1
       ON CONFLICT (pipe_id, batch_id) DO NOTHING`,
    "(?, ?, ?, ?, ?, CAST(? AS BIGINT))",
  );
}

async function heldAmong(
  tx: Queries,
  writes: readonly LedgerWrite[],
  nowMs: string,
): Promise<ReadonlySet<string | undefined>> {
  if (!writes.some(({ kind }) => kind === "begin")) return new Set();
  const held = await tx.all<{ pipe_id: string }>(`SELECT pipe_id FROM pipe_holds WHERE expires_at > ${nowMs}`);
  return new Set(held.map((row) => row.pipe_id));
}

type Confirmed = { readonly pipeId: string; readonly done: StoredConfirmation };

function confirmAll(tx: Queries, confirmed: readonly Confirmed[]): Promise<void>[] {
  const now = new Date().toISOString();
  const checkpoints = new Map<string, SqlValue[]>();
  for (const { pipeId, done } of confirmed) {
    if (done.checkpoint === undefined) continue;
    const row = [pipeId, done.lane, JSON.stringify(done.checkpoint), now];
    checkpoints.set(keyOf(pipeId, done.lane), row);
  }
  const pipes = [...new Set(confirmed.map(({ pipeId }) => pipeId))];
  return [
    recordBatches(
      tx,
      confirmed.map(({ pipeId, done }) => ({ pipeId, ...done })),
    ),
    runForRows(
      tx,
      confirmed.map(({ pipeId, done }) => [pipeId, done.batchId]),
      (values) => `DELETE FROM pipe_intents WHERE (pipe_id, batch_id) IN (${values})`,
    ),
    runForRows(
      tx,
      [...checkpoints.values()],
      (values) => `INSERT INTO pipe_checkpoints (pipe_id, lane, checkpoint, updated_at) ${values}
        ON CONFLICT (pipe_id, lane) DO UPDATE SET checkpoint = excluded.checkpoint, updated_at = excluded.updated_at`,
    ),
    runForRows(
      tx,
      pipes.map((pipeId) => [pipeId, now]),
      (values) => `INSERT INTO pipe_outcomes (pipe_id, last_success_at) ${values}
        ON CONFLICT (pipe_id) DO UPDATE SET last_success_at = excluded.last_success_at`,
    ),
  ];
}

type Noted = Pick<LedgerWrite, "pipeId"> & Pick<StoredConfirmation, "marks" | "counts">;

/** One statement must not change a row twice: of several marks of one name, the last one is written. */
async function upsertMarks(tx: Queries, noted: readonly Noted[]): Promise<void> {
  const rows = new Map<string, SqlValue[]>();
  for (const { pipeId, marks } of noted) {
    for (const [key, mark] of Object.entries(marks)) rows.set(keyOf(pipeId, key), [pipeId, key, JSON.stringify(mark)]);
  }
  await runForRows(
    tx,
    [...rows.values()],
    (values) => `INSERT INTO pipe_marks (pipe_id, mark_key, mark) ${values}
      ON CONFLICT (pipe_id, mark_key) DO UPDATE SET mark = excluded.mark`,
  );
}

async function addCounts(tx: Queries, noted: readonly Noted[]): Promise<void> {
  const sums = new Map<string, [string, string, number]>();
  for (const { pipeId, counts } of noted) {
    for (const [name, value] of Object.entries(counts)) {
      const key = keyOf(pipeId, name);
      sums.set(key, [pipeId, name, value + (sums.get(key)?.[2] ?? 0)]);
    }
  }
  await runForRows(
    tx,
    [...sums.values()],
    (values) => `INSERT INTO pipe_counters (pipe_id, name, value) ${values}
      ON CONFLICT (pipe_id, name) DO UPDATE SET value = pipe_counters.value + excluded.value`,
  );
}

/** Ids of pipes contain no space. */
function keyOf(pipeId: string, name: string): string {
  return `${pipeId} ${name}`;
}
