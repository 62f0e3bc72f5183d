/** Reuses the memory of durable rows: the system's fresh pages cost more than filling them. */
export interface RowMemory {
  /** At least this many bytes, with any content. */
  take(bytes: number): Buffer;
  give(memory: Buffer): void;
}

export const unpooled: RowMemory = { take: (bytes) => Buffer.allocUnsafeSlow(bytes), give: () => {} };

/** Maximum number of buffers kept. */
const keptPieces = 4;
/** Smaller buffers are not worth keeping. */
const smallBytes = 1_000_000;

export class RowPool implements RowMemory {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes < smallBytes) return unpooled.take(bytes);
    const fits = this.#free.findIndex((memory) => memory.length >= bytes);
    if (fits >= 0) return this.#free.splice(fits, 1)[0] as Buffer;
    // A round size, so that it also fits the next batch, which may be a little larger. Untouched memory costs nothing.
    return unpooled.take(2 ** Math.ceil(Math.log2(bytes)));
  }

  give(memory: Buffer): void {
    if (memory.length < smallBytes) return;
    this.#free.push(memory);
    if (this.#free.length > keptPieces) this.#free.sort((a, b) => b.length - a.length).pop();
  }
}
