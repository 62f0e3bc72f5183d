/**
 * One row as pgoutput sends it: a view on the message it came in. Nothing is copied and no object is made per value;
 * `bytes` makes a subarray when it is asked. A driver may write over a message once it has handed out the next ones:
 * copy what is kept.
 */

/** A value that the server did not send because it is stored out of line and did not change. */
export const unchanged = Symbol("unchanged");

/** The byte in front of each value. */
export const valueKind = { null: 0x6e, unchanged: 0x75, text: 0x74 } as const;

export class Tuple {
  readonly message: Buffer;
  /** Offset of the first value's kind byte. */
  readonly start: number;
  /** Number of values. */
  readonly size: number;

  /** `start` must come from a checked message; use `decode` of `pgoutput.ts` or `tupleOf`. */
  constructor(message: Buffer, start: number, size: number) {
    this.message = message;
    this.start = start;
    this.size = size;
  }

  /** The text of value `index` as a view, null for NULL, `unchanged` for a TOAST value that was not sent. */
  bytes(index: number): Buffer | null | typeof unchanged {
    if (index < 0 || index >= this.size) throw new RangeError(`a row of ${this.size} values has no value ${index}`);
    let at = this.start;
    for (let skipped = 0; skipped < index; skipped += 1) at = this.#next(at);
    const kind = this.message[at];
    if (kind === valueKind.null) return null;
    if (kind === valueKind.unchanged) return unchanged;
    return this.message.subarray(at + 5, this.#next(at));
  }

  /** True when a value was not sent because it did not change. */
  hasUnchanged(): boolean {
    let at = this.start;
    for (let index = 0; index < this.size; index += 1) {
      if (this.message[at] === valueKind.unchanged) return true;
      at = this.#next(at);
    }
    return false;
  }

  #next(at: number): number {
    return this.message[at] === valueKind.text ? at + 5 + this.message.readInt32BE(at + 1) : at + 1;
  }
}

/** A tuple of texts, for rows that were read from the source by a query, and for tests. */
export function tupleOf(values: readonly (Uint8Array | string | null | typeof unchanged)[]): Tuple {
  const parts = values.map((value) => {
    if (value === null) return Buffer.of(valueKind.null);
    if (value === unchanged) return Buffer.of(valueKind.unchanged);
    const bytes = Buffer.from(value as Uint8Array);
    const head = Buffer.allocUnsafe(5);
    head[0] = valueKind.text;
    head.writeInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  });
  return new Tuple(Buffer.concat(parts), 0, values.length);
}
