/** Rows of a copy, one behind the other, as the data of inserts. */
import type { RowSink } from "../protocol/copy-frames.ts";

/** Bytes of one insert. */
const maxInsertBytes = 48 * 2 ** 20;
/** All pieces of a worker with a GB of memory. */
const heldBytes = 336 * 2 ** 20;

/** Bytes of a piece, so that so many of them fit into a worker of this size beside everything else. */
export function pieceBytes(memoryGb: number, pieces: number): number {
  return Math.min(maxInsertBytes, Math.floor((heldBytes * memoryGb) / pieces));
}

/** Buffers that are used again: new memory costs more than what is written into it. */
export class Buffers {
  readonly #free: Buffer[] = [];
  /** Of each. Memory that is not written to costs nothing. */
  readonly bytes: number;
  #most: number;

  /** Keeps so many of them. */
  constructor(most: number, bytes = maxInsertBytes) {
    this.#most = most;
    this.bytes = bytes;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }

  /** Nobody reads the piece any more. One that a single huge row has made is not kept. */
  give(piece: Buffer): void {
    const whole = Buffer.from(piece.buffer as ArrayBuffer);
    if (this.#free.length < this.#most && whole.length === this.bytes) this.#free.push(whole);
  }

  /** Keeps none from now on. */
  close(): void {
    this.#most = 0;
    this.#free.length = 0;
  }
}

/** Gathers rows and cuts them between rows, so that a piece fits into a buffer. A larger row is a piece of its own. */
export class Pieces implements RowSink {
  rows = 0;
  bytes = 0;
  readonly #buffers: Buffers;
  /** Takes the pieces that are full, and answers when there is room for more. */
  readonly #give: ((pieces: readonly Buffer[]) => Promise<void>) | undefined;
  readonly #full: Buffer[] = [];
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(buffers: Buffers, give?: (pieces: readonly Buffer[]) => Promise<void>) {
    this.#buffers = buffers;
    this.#give = give;
  }

  begin(bytes: number): void {
    if (this.#at + bytes > this.#buffers.bytes && this.#at > 0) this.#cut();
    this.rows += 1;
    this.bytes += bytes;
  }

  add(chunk: Buffer, from: number, to: number): void {
    const end = this.#at + to - from;
    if (end > this.#buffer.length) this.#grow(end);
    chunk.copy(this.#buffer, this.#at, from, to);
    this.#at = end;
  }

  full(): Promise<void> | undefined {
    return this.#full.length === 0 ? undefined : this.#give?.(this.#full.splice(0));
  }

  /** The rest of what was gathered. Pieces are to be given back to the buffers when they were inserted. */
  take(): readonly Buffer[] {
    if (this.#at > 0) this.#cut();
    return this.#full.splice(0);
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
