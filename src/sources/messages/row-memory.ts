/** Memory of rows that are durable, used again for the next ones: the system's fresh pages cost more than filling them. */
export interface RowMemory {
  /** At least so many bytes, with any content. */
  take(bytes: number): Buffer;
  give(memory: Buffer): void;
}

export const unpooled: RowMemory = { take: (bytes) => Buffer.allocUnsafeSlow(bytes), give: () => {} };

/** What is kept for later, at most. */
const keptPieces = 4;
/** Smaller pieces are not worth keeping. */
const smallBytes = 1_000_000;

export class RowPool implements RowMemory {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes < smallBytes) return unpooled.take(bytes);
    const fits = this.#free.findIndex((memory) => memory.length >= bytes);
    if (fits >= 0) return this.#free.splice(fits, 1)[0] as Buffer;
    // A round size, so that it fits the next batch too, which may be a little larger. What is not written to costs nothing.
    return unpooled.take(2 ** Math.ceil(Math.log2(bytes)));
  }

  give(memory: Buffer): void {
    if (memory.length < smallBytes) return;
    this.#free.push(memory);
    if (this.#free.length > keptPieces) this.#free.sort((a, b) => b.length - a.length).pop();
  }
}
