/**
 * A pipe through which the kernel moves bytes between two sockets without copying them into this process: splice(2) of
 * Linux. The functions block the calling thread, at most for the time given.
 */
import { type CAnswer, callC } from "../../lib/native-library.ts";

/** Bytes moved; "wait" when the socket is not ready; "failed" when it is closed or broken. */
export type Moved = number | "wait" | "failed";

const pipeBytes = 1_048_576;
const closeOnExec = 0o2_000_000;
const setPipeSize = 1031;
const moveWithoutWaiting = 3;
const tryAgain = new Set([4, 11]);
const pollIn = 1;
const pollOut = 4;

export class KernelPipe {
  readonly #out: number;
  readonly #in: number;
  #held = 0;

  /** Throws when no pipe can be made. */
  constructor() {
    const ends = Buffer.alloc(8);
    const { value, reason } = callC("pipe2", [ends, closeOnExec]);
    if (value < 0) throw new Error(`pipe2: ${reason}`);
    this.#out = ends.readInt32LE(0);
    this.#in = ends.readInt32LE(4);
    // A limit of the system may refuse it: then the pipe is smaller, and moving takes more calls.
    callC("fcntl", [this.#in, setPipeSize, pipeBytes]);
  }

  /** Bytes in the pipe. */
  get held(): number {
    return this.#held;
  }

  /** Takes at most `most` bytes from a socket; 0 at its end. The pipe must be empty. */
  take(socket: number, most: number): Moved {
    const moved = movedOf(callC("splice", [socket, 0, this.#in, 0, Math.min(most, pipeBytes), moveWithoutWaiting]));
    if (typeof moved === "number") this.#held += moved;
    return moved;
  }

  /** Gives what the pipe holds to a socket, as far as it takes it. */
  give(socket: number): Moved {
    const moved = movedOf(callC("splice", [this.#out, 0, socket, 0, this.#held, moveWithoutWaiting]));
    if (typeof moved === "number") this.#held -= moved;
    return moved;
  }

  close(): void {
    closeDescriptor(this.#out);
    closeDescriptor(this.#in);
  }
}

/** Waits until the socket has bytes or is closed, until the bell is rung, or until the time is up. */
export function waitForBytes(socket: number, bell: number, ms: number): void {
  poll(socket, pollIn, bell, ms);
}

/** Waits until the socket takes bytes or is closed, until the bell is rung, or until the time is up. */
export function waitForRoom(socket: number, bell: number, ms: number): void {
  poll(socket, pollOut, bell, ms);
}

/** A descriptor with which a thread that waits is woken. Throws when there is none. */
export function openBell(): number {
  const { value, reason } = callC("eventfd", [0, closeOnExec]);
  if (value < 0) throw new Error(`eventfd: ${reason}`);
  return value;
}

export function ringBell(bell: number): void {
  callC("write", [bell, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]), 8]);
}

/** Another descriptor of the same socket, which stays open until it is closed itself. Throws when there is none. */
export function duplicated(socket: number): number {
  const { value, reason } = callC("dup", [socket]);
  if (value < 0) throw new Error(`dup: ${reason}`);
  return value;
}

/** Closes a descriptor that was made here: Node does not know of it. */
export function closeDescriptor(descriptor: number): void {
  callC("close", [descriptor]);
}

function poll(socket: number, event: number, bell: number, ms: number): void {
  const entries = Buffer.alloc(16);
  entries.writeInt32LE(socket, 0);
  entries.writeInt16LE(event, 4);
  entries.writeInt32LE(bell, 8);
  entries.writeInt16LE(pollIn, 12);
  callC("poll", [entries, 2, ms]);
}

function movedOf({ value, errno }: CAnswer): Moved {
  if (value >= 0) return value;
  return tryAgain.has(errno) ? "wait" : "failed";
}
