/**
 * One row as pgoutput sends it: a view on the message it came in. Nothing is copied and no object is made per value;
 * `bytes` makes a subarray when it is asked.
 */
import type { Buffer } from "node:buffer";

/** A value that the server did not send because it is stored out of line and did not change. */
export const unchanged = Symbol("unchanged");

export class Tuple {
  readonly message: Buffer;
  /** Offset of the first value's kind byte. */
  readonly start: number;
  /** Number of values. */
  readonly size: number;

  /** `start` must come from a checked message; use `readTuple` of `pgoutput.ts` or `tupleOf`. */
  constructor(message: Buffer, start: number, size: number) {
    this.message = message;
    this.start = start;
    this.size = size;
  }

  /** The text of value `index` as a view, null for NULL, `unchanged` for a TOAST value that was not sent. */
  bytes(index: number): Buffer | null | typeof unchanged {
    throw new Error(`not built: ${index}`);
  }

  /** True when a value was not sent because it did not change. */
  hasUnchanged(): boolean {
    throw new Error("not built");
  }
}

/** A tuple of texts, for rows that were read from the source by a query, and for tests. */
export function tupleOf(values: readonly (Uint8Array | string | null | typeof unchanged)[]): Tuple {
  throw new Error(`not built: ${values.length}`);
}
