/** When a batch is full, and how much memory batches may use. */

const megabyte = 1_000_000;

export type BatchLimits = {
  readonly maxRows: number;
  /** Bytes of a batch; a single message above it is rejected. */
  readonly maxBytes: number;
  /** Age at which a batch is handed out even if it is small. */
  readonly maxWaitMs: number;
  /** Bytes of all batches of the process, open and being inserted. */
  readonly memoryBytes: number;
};

/** 100,000 rows, 32 MB per GB of the replica's memory, or the pipe's longest wait, whichever comes first. */
export function batchLimits(memoryGb: number, maxWaitMs: number): BatchLimits {
  const maxBytes = 32 * megabyte * memoryGb;
  return { maxRows: 100_000, maxBytes, maxWaitMs, memoryBytes: 4 * maxBytes };
}
