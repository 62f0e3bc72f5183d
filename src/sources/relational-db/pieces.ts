/** Rows of a copy, one behind the other, as the data of inserts. */
import type { RowSink } from "./copy-frames.ts";

/** Bytes of one insert. */
const maxInsertBytes = 48 * 2 ** 20;
const firstBytes = 2 ** 20;

/** Gathers rows and cuts them between rows. */
export class Pieces implements RowSink {
  rows = 0;
  bytes = 0;
  readonly #maxBytes: number;
  readonly #full: Buffer[] = [];
  #buffer = Buffer.allocUnsafeSlow(firstBytes);
  #at = 0;

  constructor(maxBytes = maxInsertBytes) {
    this.#maxBytes = maxBytes;
  }

  begin(bytes: number): void {
    if (this.#at + bytes > this.#maxBytes && this.#at > 0) this.#cut();
    this.rows += 1;
    this.bytes += bytes;
  }

  add(chunk: Buffer, from: number, to: number): void {
    const end = this.#at + to - from;
    if (end > this.#buffer.length) this.#grow(end);
    chunk.copy(this.#buffer, this.#at, from, to);
    this.#at = end;
  }

  /** What was gathered; the buffers belong to the caller. */
  take(): readonly Buffer[] {
    if (this.#at > 0) this.#cut();
    return this.#full;
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }

  #cut(): void {
    this.#full.push(this.#buffer.subarray(0, this.#at));
    this.#buffer = Buffer.allocUnsafeSlow(firstBytes);
    this.#at = 0;
  }
}
