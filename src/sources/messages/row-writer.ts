/** The bytes of rows on their way to the engine, and where each row begins. */

const initialBytes = 64 * 1024;

export class RowWriter {
  #bytes: Buffer;
  #length = 0;
  /** Where each row begins. */
  readonly starts: number[] = [];

  constructor(expectedBytes = initialBytes) {
    this.#bytes = Buffer.allocUnsafe(Math.max(initialBytes, expectedBytes));
  }

  get length(): number {
    return this.#length;
  }

  get rows(): number {
    return this.starts.length;
  }

  startRow(): void {
    this.starts.push(this.#length);
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  bytes(from: Uint8Array): void {
    this.copy(from, 0, from.length);
  }

  /** Copies `from[start, end)`. */
  copy(from: Uint8Array, start: number, end: number): void {
    this.#room(end - start);
    this.#bytes.set(from.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  /** Text of characters up to U+00FF, each one byte. */
  latin1(text: string): void {
    this.#room(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** Everything written; valid as long as nothing is added. */
  content(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The bytes of one row. */
  row(index: number): Buffer {
    return this.#bytes.subarray(this.starts[index] as number, this.starts[index + 1] ?? this.#length);
  }

  #room(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
