/**
 * Rows of the stream as TabSeparated: the very bytes that `COPY ... TO STDOUT` gives for the same row, so that snapshot
 * and stream share one conversion in the engine.
 */
import { type Tuple, valueKind } from "../protocol/tuple.ts";

const tab = 0x09;
const newline = 0x0a;
const backslash = 0x5c;

/** Letter that stands after the backslash for a byte, or 0 for one that is written as it is. */
const escapes = new Uint8Array(256);
for (const [byte, letter] of ["\bb", "\tt", "\nn", "\vv", "\ff", "\rr", "\\\\"].map((pair) => Buffer.from(pair))) {
  escapes[byte as number] = letter as number;
}

/** Where the values of a tuple are: offset and length, length -1 for NULL and -2 for one that was not sent. */
class Places {
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;

  constructor(size: number) {
    this.offsets = new Int32Array(size);
    this.lengths = new Int32Array(size);
  }

  /** Walks a checked tuple; the answer is the number of bytes of its values. */
  find({ message, start, size }: Tuple): number {
    let at = start;
    let bytes = 0;
    for (let index = 0; index < size; index += 1) {
      const kind = message[at] as number;
      if (kind === valueKind.text) {
        const length =
          ((message[at + 1] as number) << 24) |
          ((message[at + 2] as number) << 16) |
          ((message[at + 3] as number) << 8) |
          (message[at + 4] as number);
        this.offsets[index] = at + 5;
        this.lengths[index] = length;
        bytes += length;
        at += 5 + length;
      } else {
        this.lengths[index] = kind === valueKind.null ? -1 : -2;
        at += 1;
      }
    }
    return bytes;
  }
}

/** Collects encoded rows of one table. Make a new one when the table's columns change. */
export class TsvRowWriter {
  readonly #columns: Int32Array;
  readonly #size: number;
  readonly #initialBytes: number;
  readonly #row: Places;
  readonly #old: Places;
  #buffer: Buffer;
  #at = 0;
  #rows = 0;

  /**
   * `columns`: for each column that is written, in order, its place in the tuple; -1 writes `\N`. `tupleSize` is the
   * number of values that a tuple must have (a Relation message's columns).
   */
  constructor(columns: readonly number[], tupleSize: number, initialBytes = 1 << 16) {
    this.#columns = Int32Array.from(columns);
    this.#size = tupleSize;
    this.#row = new Places(tupleSize);
    this.#old = new Places(tupleSize);
    this.#initialBytes = initialBytes;
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Rows and bytes since the last `take`. */
  get rows(): number {
    return this.#rows;
  }
  get bytes(): number {
    return this.#at;
  }

  /**
   * Adds a row. `tail` is appended as it is after the columns: ASCII that begins with a tab (version, deleted flag), or
   * empty. Values that were not sent (unchanged TOAST) are taken from `old`; without them nothing is added and the
   * answer is false. Throws when the tuple's size is not the relation's.
   */
  append(row: Tuple, tail: string, old?: Tuple): boolean {
    let bytes = this.#locate(row, this.#row);
    if (old !== undefined) bytes += this.#locate(old, this.#old);
    // A byte becomes two at most; `\N` and a separator for each column.
    this.#reserve(2 * bytes + 3 * this.#columns.length + tail.length + 1);
    const start = this.#at;
    for (let index = 0; index < this.#columns.length; index += 1) {
      if (index > 0) this.#buffer[this.#at++] = tab;
      if (!this.#writeColumn(this.#columns[index] as number, row, old)) {
        this.#at = start;
        return false;
      }
    }
    for (let index = 0; index < tail.length; index += 1) this.#buffer[this.#at++] = tail.charCodeAt(index);
    this.#buffer[this.#at++] = newline;
    this.#rows += 1;
    return true;
  }

  /** The rows so far; the writer begins anew. The buffer belongs to the caller. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#at);
    this.#buffer = Buffer.allocUnsafeSlow(this.#initialBytes);
    this.#at = 0;
    this.#rows = 0;
    return taken;
  }

  #locate(tuple: Tuple, places: Places): number {
    if (tuple.size !== this.#size) {
      throw new Error(`a row has ${tuple.size} values, its relation has ${this.#size} columns`);
    }
    return places.find(tuple);
  }

  #writeColumn(place: number, row: Tuple, old: Tuple | undefined): boolean {
    let places = this.#row;
    let { message } = row;
    let length = place < 0 ? -1 : (places.lengths[place] as number);
    if (length === -2 && old !== undefined) {
      places = this.#old;
      message = old.message;
      length = places.lengths[place] as number;
    }
    if (length === -2) return false;
    if (length < 0) {
      this.#buffer[this.#at++] = backslash;
      this.#buffer[this.#at++] = 0x4e;
    } else {
      const from = places.offsets[place] as number;
      this.#at = copyEscaped(message, from, from + length, this.#buffer, this.#at);
    }
    return true;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }
}

/** The place of each wanted name in a relation's columns, -1 for one that it does not have. */
export function columnIndexes(relation: readonly { readonly name: string }[], wanted: readonly string[]): number[] {
  const places = new Map(relation.map(({ name }, index) => [name, index]));
  return wanted.map((name) => places.get(name) ?? -1);
}

/** Copies a value with its escapes; the answer is where it ends in `target`, which has room for it. */
function copyEscaped(source: Buffer, from: number, to: number, target: Buffer, at: number): number {
  let out = at;
  for (let index = from; index < to; index += 1) {
    const byte = source[index] as number;
    const letter = escapes[byte] as number;
    if (letter !== 0) {
      target[out++] = backslash;
      target[out++] = letter;
    } else {
      target[out++] = byte;
    }
  }
  return out;
}
