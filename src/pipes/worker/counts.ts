/**
 * The counters of rows. This is the only place that computes them, and the ledger adds them in the transaction that
 * saves the checkpoint: `fetchedRows = sentRows + refusedRows + skippedRows` holds at every moment.
 */
import type { Batch, NotedCounts, RejectedRecord } from "../../sources/contract/source.ts";
import { tableRowsPrefix } from "../protocol.ts";

export type RowCounts = {
  readonly fetchedRows: number;
  readonly sentRows: number;
  readonly refusedRows: number;
  readonly skippedRows: number;
  /** Refused rows, and everything else that the error table records. */
  readonly errors: number;
};

/** What a durable batch adds. `sentRows`: rows of the source that its inserts carried. */
export function rowCounts(batch: Pick<Batch, "rejected" | "skippedRows">, sentRows: number): RowCounts {
  const rejected = batch.rejected ?? [];
  const refusedRows = sumOf(rejected, rowsOf);
  const skippedRows = batch.skippedRows ?? 0;
  const errors = sumOf(rejected, (record) => Math.max(1, rowsOf(record)));
  return { fetchedRows: sentRows + refusedRows + skippedRows, sentRows, refusedRows, skippedRows, errors };
}

/** What a source counts outside a batch. */
export function notedCounts(counts: NotedCounts): Record<string, number> {
  const { skippedRows } = counts;
  return { ...counts, ...(skippedRows === undefined ? {} : { fetchedRows: skippedRows }) };
}

/** The counter of rows that were sent to one of several tables. */
export function tableCounter(table: string): string {
  return `${tableRowsPrefix}${table}`;
}

/** Number of fetched rows that the record represents. */
export function rowsOf(record: RejectedRecord): number {
  return record.rows ?? 1;
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}
