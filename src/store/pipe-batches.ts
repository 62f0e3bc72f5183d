/** What pipes wrote lately: the newest batches of each pipe. */
import type { Database, Queries } from "./database.ts";

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

type Row = {
  readonly seq: number;
  readonly batch_id: string;
  readonly lane: string;
  readonly rows: number;
  readonly bytes: number;
  readonly refused_rows: number;
  readonly replayed_rows: number;
  readonly started_at: string;
  readonly finished_at: string;
};

type Confirmed = { readonly batchId: string; readonly lane: string; readonly counts: Readonly<Record<string, number>> };

/**
 * Records a confirmed batch whose intent is still stored, and drops the oldest beyond `keptBatches`. A batch that moved
 * no row is not recorded.
 */
export async function recordBatch(tx: Queries, pipeId: string, { batchId, lane, counts }: Confirmed): Promise<void> {
  const { sentRows = 0, sentBytes = 0, replayedRows = 0, errors = 0, refusedRows = errors } = counts;
  if (sentRows + replayedRows + refusedRows === 0) return;
  const now = new Date().toISOString();
  const intent = await tx.get<{ created_at: string }>(
    "SELECT created_at FROM pipe_intents WHERE pipe_id = ? AND batch_id = ?",
    ...[pipeId, batchId],
  );
  const recorded = tx.run(
    `INSERT INTO pipe_batches (pipe_id, batch_id, lane, rows, bytes, refused_rows, replayed_rows, started_at, finished_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[pipeId, batchId, lane, sentRows, sentBytes, refusedRows, replayedRows, intent?.created_at ?? now, now],
  );
  const trimmed = tx.run(
    `DELETE FROM pipe_batches WHERE pipe_id = ? AND seq <= (
       SELECT seq FROM pipe_batches WHERE pipe_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ${keptBatches})`,
    ...[pipeId, pipeId],
  );
  await Promise.all([recorded, trimmed]);
}

export class BatchStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Newest first, those before the batch with the number `before`. */
  async list(pipeId: string, limit: number, before = Number.MAX_SAFE_INTEGER): Promise<BatchRecord[]> {
    const rows = await this.#db.all<Row>(
      "SELECT * FROM pipe_batches WHERE pipe_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
      ...[pipeId, before, limit],
    );
    return rows.map((row) => ({
      seq: row.seq,
      batchId: row.batch_id,
      lane: row.lane,
      rows: row.rows,
      bytes: row.bytes,
      refusedRows: row.refused_rows,
      replayedRows: row.replayed_rows,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
    }));
  }
}
