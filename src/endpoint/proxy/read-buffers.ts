/**
 * Memory that answers are read into and that is used again once it has been sent on. Node's own reading takes 64 KiB of
 * new memory for each read, and three times the processor time for it.
 */

const smallBytes = 65_536;
const largeBytes = 1_048_576;
/** Of each size, free ones that are kept. */
const maxFree = 16;

const small: Buffer[] = [];
const large: Buffer[] = [];

/** Memory for the next read, after one that brought `bytes`: a large one means that more is waiting. */
export function takeBuffer(bytes: number): Buffer {
  return bytes < smallBytes
    ? (small.pop() ?? Buffer.allocUnsafeSlow(smallBytes))
    : (large.pop() ?? Buffer.allocUnsafeSlow(largeBytes));
}

/** Nobody may read it from now on. */
export function giveBuffer(buffer: Buffer): void {
  const free = buffer.length === smallBytes ? small : large;
  if (free.length < maxFree) free.push(buffer);
}

/** One buffer that several may still need. It is given back when the last has released it. */
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
    giveBuffer(this.buffer);
    this.#onFree();
  };
}
