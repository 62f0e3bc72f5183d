/**
 * Reusable buffers for reading responses. Node's own reading allocates 64 KiB for each read, and takes three times the
 * processor time.
 */
import type { OnReadOpts, Socket } from "node:net";

const smallBytes = 65_536;
const largeBytes = 1_048_576;
/** Maximum number of free buffers kept per size. */
const maxFree = 16;

/** Connections that read into large buffers. Beyond this number all use small ones: each may hold three. */
const maxLargeReaders = 20;

const small: Buffer[] = [];
const large: Buffer[] = [];
let readers = 0;

/** A buffer for the next read, after one of `bytes`: a large read means that more is waiting. */
export function acquireBuffer(bytes: number): Buffer {
  return bytes < smallBytes || readers > maxLargeReaders
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

/** Maximum number of reads not yet passed on; then reading pauses. */
const maxUnsent = 3;

/** Reads a connection into reusable buffers, and no faster than what was read is passed on. */
export class LeasedReads {
  /** What the socket is made with. */
  readonly onread: OnReadOpts = {
    buffer: () => this.#lease.buffer,
    callback: (bytes) => this.#onRead(bytes),
  };
  readonly #take: (bytes: Buffer) => void;
  #socket: Socket | undefined;
  #lease = this.#nextLease(0);
  #unsent = 0;

  /** `take` gets what was read; its memory is reused when it returns, unless it has called `hold`. */
  constructor(take: (bytes: Buffer) => void) {
    this.#take = take;
  }

  /** The socket that was made with `onread`. */
  set socket(socket: Socket) {
    this.#socket = socket;
    readers += 1;
    socket.once("close", () => {
      readers -= 1;
      // Nothing is read into it any more, and nobody holds it yet.
      releaseBuffer(this.#lease.buffer);
    });
  }

  /** Within `take`: keeps the memory until the returned function is called. */
  hold(): () => void {
    return this.#lease.hold();
  }

  #nextLease(bytes: number): BufferLease {
    return new BufferLease(acquireBuffer(bytes), () => {
      this.#unsent -= 1;
      if (this.#unsent < maxUnsent && this.#socket?.isPaused()) this.#socket.resume();
    });
  }

  /** Returns whether to continue reading. The next read goes into the buffer of the next lease. */
  #onRead(bytes: number): boolean {
    const lease = this.#lease;
    const done = lease.hold();
    this.#unsent += 1;
    this.#take(lease.buffer.subarray(0, bytes));
    done();
    this.#lease = this.#nextLease(bytes);
    if (this.#unsent < maxUnsent) return true;
    this.#socket?.pause();
    return false;
  }
}
