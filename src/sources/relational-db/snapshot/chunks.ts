/** Concatenated rows of a copy as the data of inserts. */
import type { RowSink } from "../protocol/copy-frames.ts";

/** Bytes of one insert. */
const maxInsertBytes = 48 * 2 ** 20;
/** All chunks of a worker with a GB of memory. */
const heldBytes = 336 * 2 ** 20;

/** Bytes of a chunk, so that so many of them fit into a worker of this size beside everything else. */
export function chunkBytes(memoryGb: number, chunks: number): number {
  return Math.min(maxInsertBytes, Math.floor((heldBytes * memoryGb) / chunks));
}

/** Buffers that are used again: new memory costs more than what is written into it. */
export class BufferPool {
  readonly #free: Buffer[] = [];
  /** Each chunk has as many. Memory that is not written to costs nothing. */
  readonly bytes: number;
  #most: number;

  /** Keeps so many of them. */
  constructor(most: number, bytes = maxInsertBytes) {
    this.#most = most;
    this.bytes = bytes;
  }

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }

  /** Nobody reads the chunk any more. One that a single huge row has made is not kept. */
  release(chunk: Buffer): void {
    const whole = Buffer.from(chunk.buffer as ArrayBuffer);
    if (this.#free.length < this.#most && whole.length === this.bytes) this.#free.push(whole);
  }

  /** Keeps none from now on. */
  close(): void {
    this.#most = 0;
    this.#free.length = 0;
  }
}

/** Gathers rows and cuts them between rows, so that a chunk fits into a buffer. A larger row is a chunk of its own. */
export class ChunkBuilder implements RowSink {
  rows = 0;
  bytes = 0;
  readonly #pool: BufferPool;
  /** Takes the chunks that are full, and answers when there is room for more. */
  readonly #onFull: ((chunks: readonly Buffer[]) => Promise<void>) | undefined;
  readonly #full: Buffer[] = [];
  readonly #rowsOf = new WeakMap<Buffer, number>();
  /** Rows in the chunks that were cut. */
  #rowsCut = 0;
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(buffers: BufferPool, give?: (chunks: readonly Buffer[]) => Promise<void>) {
    this.#pool = buffers;
    this.#onFull = give;
  }

  begin(bytes: number): void {
    if (this.#at + bytes > this.#pool.bytes && this.#at > 0) this.#cut();
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
    return this.#full.length === 0 ? undefined : this.#onFull?.(this.#full.splice(0));
  }

  /** The rest of what was gathered. Chunks are to be released to the pool when they were inserted. */
  take(): readonly Buffer[] {
    if (this.#at > 0) this.#cut();
    return this.#full.splice(0);
  }

  /** Number of rows of a chunk that was handed out. */
  rowsOf(chunk: Buffer): number {
    return this.#rowsOf.get(chunk) ?? 0;
  }

  #grow(bytes: number): void {
    const now = this.#buffer;
    const next = this.#at === 0 ? this.#pool.acquire() : now;
    this.#buffer = next.length >= bytes ? next : Buffer.allocUnsafeSlow(Math.max(bytes, next.length * 2));
    now.copy(this.#buffer, 0, 0, this.#at);
  }

  #cut(): void {
    const chunk = this.#buffer.subarray(0, this.#at);
    this.#rowsOf.set(chunk, this.rows - this.#rowsCut);
    this.#rowsCut = this.rows;
    this.#full.push(chunk);
    this.#buffer = Buffer.alloc(0);
    this.#at = 0;
  }
}
