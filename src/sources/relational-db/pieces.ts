/** Rows of a copy, one behind the other, as the data of inserts. */
import type { RowSink } from "./copy-frames.ts";

/** Bytes of one insert. */
const maxInsertBytes = 48 * 2 ** 20;
/** Memory that is not written to costs nothing. */
const firstBytes = 16 * 2 ** 20;
/** One that a single huge row has made is not kept. */
const maxKeptBytes = 64 * 2 ** 20;

/** Buffers that are used again: new memory costs more than what is written into it. */
export class Buffers {
  readonly #free: Buffer[] = [];
  #most: number;

  /** Keeps so many of them. */
  constructor(most: number) {
    this.#most = most;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(firstBytes);
  }

  /** Nobody reads the piece any more. */
  give(piece: Buffer): void {
    const whole = Buffer.from(piece.buffer as ArrayBuffer);
    if (this.#free.length < this.#most && whole.length <= maxKeptBytes) this.#free.push(whole);
  }

  /** Keeps none from now on. */
  close(): void {
    this.#most = 0;
    this.#free.length = 0;
  }
}

/** Gathers rows and cuts them between rows. */
export class Pieces implements RowSink {
  rows = 0;
  bytes = 0;
  readonly #buffers: Buffers;
  readonly #maxBytes: number;
  readonly #full: Buffer[] = [];
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(buffers: Buffers, maxBytes = maxInsertBytes) {
    this.#buffers = buffers;
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

  /** What was gathered: to be given back to the buffers when it was inserted. */
  take(): readonly Buffer[] {
    if (this.#at > 0) this.#cut();
    return this.#full;
  }

  #grow(bytes: number): void {
    const now = this.#buffer;
    const next = this.#at === 0 ? this.#buffers.take() : now;
    this.#buffer = next.length >= bytes ? next : Buffer.allocUnsafeSlow(Math.max(bytes, next.length * 2));
    now.copy(this.#buffer, 0, 0, this.#at);
  }

  #cut(): void {
    this.#full.push(this.#buffer.subarray(0, this.#at));
    this.#buffer = Buffer.alloc(0);
    this.#at = 0;
  }
}
