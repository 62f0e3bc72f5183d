/**
 * Reusable buffers for reading responses. Node's own reading allocates 64 KiB for each read, and takes three times the
 * processor time.
 */

const smallBytes = 65_536;
const largeBytes = 1_048_576;
/** Maximum number of free buffers kept per size. */
const maxFree = 16;

const small: Buffer[] = [];
const large: Buffer[] = [];

/** A buffer for the next read, after one of `bytes`: a large read means that more is waiting. */
export function acquireBuffer(bytes: number): Buffer {
  return bytes < smallBytes
    ? (small.pop() ?? Buffer.allocUnsafeSlow(smallBytes))
    : (large.pop() ?? Buffer.allocUnsafeSlow(largeBytes));
}

/** Returns a buffer to the pool. Nobody may read it from now on. */
export function releaseBuffer(buffer: Buffer): void {
  const free = buffer.length === smallBytes ? small : large;
  if (free.length < maxFree) free.push(buffer);
}

/** A buffer with several holders. It returns to the pool when the last one has released it. */
export class BufferLease {
  readonly buffer: Buffer;
  readonly #onFree: () => void;
  #holders = 0;

  constructor(buffer: Buffer, onFree: () => void) {
    this.buffer = buffer;
    this.#onFree = onFree;
  }

  /** Returns the release, which is called once. */
  hold(): () => void {
    this.#holders += 1;
    return this.#release;
  }

  readonly #release = () => {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    releaseBuffer(this.buffer);
    this.#onFree();
  };
}
