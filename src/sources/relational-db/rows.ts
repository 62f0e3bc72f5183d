/**
 * Rows of the stream as TabSeparated: the very bytes that `COPY ... TO STDOUT` gives for the same row, so that snapshot
 * and stream share one conversion in the engine.
 */
import type { Tuple } from "./tuple.ts";

/** Collects encoded rows of one table. Make a new one when the table's columns change. */
export class RowWriter {
  /**
   * `columns`: for each column that is written, in order, its place in the tuple; -1 writes `\N`. `tupleSize` is the
   * number of values that a tuple must have (a Relation message's columns).
   */
  constructor(columns: readonly number[], tupleSize: number, initialBytes?: number) {
    throw new Error(`not built: ${columns} ${tupleSize} ${initialBytes}`);
  }

  /** Rows and bytes since the last `take`. */
  get rows(): number {
    throw new Error("not built");
  }
  get bytes(): number {
    throw new Error("not built");
  }

  /**
   * Adds a row. `tail` is appended as it is after the columns: ASCII that begins with a tab (version, deleted flag), or
   * empty. Values that were not sent (unchanged TOAST) are taken from `old`; without them nothing is added and the
   * answer is false. Throws when the tuple's size is not the relation's.
   */
  append(row: Tuple, tail: string, old?: Tuple): boolean {
    throw new Error(`not built: ${row} ${tail} ${old}`);
  }

  /** The rows so far; the writer begins anew. The buffer belongs to the caller. */
  take(): Buffer {
    throw new Error("not built");
  }
}

/** For each wanted name its place in a relation's columns, -1 for one that it does not have. */
export function columnPlaces(relation: readonly { readonly name: string }[], wanted: readonly string[]): number[] {
  throw new Error(`not built: ${relation.length} ${wanted}`);
}
