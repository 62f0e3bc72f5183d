/** Reuses the memory of durable rows: the system's fresh pages cost more than filling them. */
export interface RowMemory {
  /** At least this many bytes, with any content. */
  acquire(bytes: number): Buffer;
  release(memory: Buffer): void;
}

export const unpooled: RowMemory = { acquire: (bytes) => Buffer.allocUnsafeSlow(bytes), release: () => {} };

/** Maximum number of buffers kept: as many as one busy pipe has in hand. */
const keptPieces = 4;
/** Smaller buffers are not worth keeping. */
const smallBytes = 1_000_000;

class RowPool implements RowMemory {
  readonly #free: Buffer[] = [];

  acquire(bytes: number): Buffer {
    if (bytes < smallBytes) return unpooled.acquire(bytes);
    const fits = this.#free.findIndex((memory) => memory.length >= bytes);
    if (fits >= 0) return this.#free.splice(fits, 1)[0] as Buffer;
    // A round size, so that it also fits the next batch, which may be a little larger. Untouched memory costs nothing.
    return unpooled.acquire(2 ** Math.ceil(Math.log2(bytes)));
  }

  release(memory: Buffer): void {
    if (memory.length < smallBytes) return;
    this.#free.push(memory);
    if (this.#free.length > keptPieces) this.#free.sort((a, b) => b.length - a.length).pop();
  }
}

/** One for all pipes of the process, so that idle pipes keep no memory. */
export const rowPool: RowMemory = new RowPool();
