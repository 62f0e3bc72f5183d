/** What pipes wrote lately: the newest batches of each pipe. */
import { recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { listRecords, Store } from "../database/records.ts";
import { runForRows } from "../database/row-values.ts";

/** Batches of a pipe that are kept. */
export const keptBatches = 1_000;

export type BatchRecord = {
  /** Increases with every batch of the server. */
  readonly seq: number;
  readonly batchId: string;
  readonly lane: string;
  readonly rows: number;
  readonly bytes: number;
  readonly refusedRows: number;
  readonly replayedRows: number;
  /** When the intent was saved, also if another worker has finished the batch. */
  readonly startedAt: string;
  readonly finishedAt: string;
};

const toBatch = recordReader<BatchRecord>()(
  ["seq batchId lane rows bytes refusedRows replayedRows startedAt finishedAt"],
  {},
);
const batches = { table: "pipe_batches", read: toBatch };

type Confirmed = {
  readonly pipeId: string;
  readonly batchId: string;
  readonly lane: string;
  readonly counts: Readonly<Record<string, number>>;
};

/**
 * Records confirmed batches whose intents are still stored, and drops the oldest of each pipe beyond `keptBatches`.
 * Batches that moved no row are not recorded.
 */
export async function recordBatches(tx: Queries, confirmed: readonly Confirmed[]): Promise<void> {
  const now = new Date().toISOString();
  const recorded = confirmed.flatMap(({ pipeId, batchId, lane, counts }, nth) => {
    const { sentRows = 0, sentBytes = 0, replayedRows = 0, errors = 0, refusedRows = errors } = counts;
    if (sentRows + replayedRows + refusedRows === 0) return [];
    return [[pipeId, batchId, lane, sentRows, sentBytes, refusedRows, replayedRows, now, nth]];
  });
  const numbers = "CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)";
  const inserted = runForRows(
    tx,
    recorded,
    (values) =>
      `INSERT INTO pipe_batches (pipe_id, batch_id, lane, rows, bytes, refused_rows, replayed_rows, started_at, finished_at)
       SELECT column1, column2, column3, column4, column5, column6, column7, coalesce(created_at, column8), column8
       FROM (${values}) AS given LEFT JOIN pipe_intents ON pipe_id = column1 AND batch_id = column2 ORDER BY column9`,
    `(?, ?, ?, ${numbers}, ?, CAST(? AS BIGINT))`,
  );
  await Promise.all([
    inserted,
    ...dropOldest(
      tx,
      recorded.map(([pipeId]) => pipeId as string),
    ),
  ]);
}

/** As many of each pipe as were added: there were `keptBatches` at most. */
function dropOldest(tx: Queries, added: readonly string[]): Promise<void>[] {
  const counts = new Map<string, number>();
  for (const pipeId of added) counts.set(pipeId, (counts.get(pipeId) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return Array.from({ length: most }, (_, i) => {
    const pipes = [...counts].filter(([, count]) => count >= most - i).map(([pipeId]) => [pipeId]);
    const place = keptBatches + most - i - 1;
    return runForRows(
      tx,
      pipes,
      (values) =>
        `DELETE FROM pipe_batches WHERE seq IN (
           SELECT (SELECT seq FROM pipe_batches AS kept WHERE kept.pipe_id = column1 ORDER BY seq DESC
             LIMIT 1 OFFSET ${place}) FROM (${values}) AS given)`,
    );
  });
}

export class BatchStore extends Store {
  /** Newest first, those before the batch with the number `before`. */
  async list(pipeId: string, limit: number, before = Number.MAX_SAFE_INTEGER): Promise<BatchRecord[]> {
    const newest = "WHERE pipe_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
    return await listRecords(this.db, batches, newest, pipeId, before, limit);
  }
}
