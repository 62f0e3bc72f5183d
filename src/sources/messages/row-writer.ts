/** The bytes of rows for the engine, and where each row begins. */
import { type RowMemory, unpooled } from "./row-memory.ts";

const initialBytes = 64 * 1024;
const initialRows = 1024;
/** Untouched memory costs little, copying a lot. */
const growth = 8;

export class MessageRowWriter {
  readonly #memory: RowMemory;
  #bytes: Buffer;
  #length = 0;
  #starts = new Uint32Array(initialRows);
  #rows = 0;

  constructor(expectedBytes = 0, memory: RowMemory = unpooled) {
    this.#memory = memory;
    this.#bytes = memory.acquire(Math.max(initialBytes, expectedBytes));
  }

  get length(): number {
    return this.#length;
  }

  get rows(): number {
    return this.#rows;
  }

  startRow(): void {
    if (this.#rows === this.#starts.length) {
      const more = new Uint32Array(2 * this.#rows);
      more.set(this.#starts);
      this.#starts = more;
    }
    this.#starts[this.#rows] = this.#length;
    this.#rows += 1;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  bytes(from: Buffer): void {
    this.copy(from, 0, from.length);
  }

  /** Copies `from[start, end)`. */
  copy(from: Buffer, start: number, end: number): void {
    this.#room(end - start);
    from.copy(this.#bytes, this.#length, start, end);
    this.#length += end - start;
  }

  /** Text of characters up to U+00FF, each one byte. */
  latin1(text: string): void {
    this.#room(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** Everything written; valid until more is added. */
  content(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The bytes of the rows `[from, to)`. */
  part(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#startOf(from), this.#startOf(to));
  }

  /** Nothing reads the rows any more: their memory may be reused. */
  release(): void {
    this.#memory.release(this.#bytes);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    this.#rows = 0;
  }

  #startOf(row: number): number {
    return row < this.#rows ? (this.#starts[row] as number) : this.#length;
  }

  #room(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = this.#memory.acquire(Math.max(needed, this.#bytes.length * growth));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#memory.release(this.#bytes);
    this.#bytes = grown;
  }
}
