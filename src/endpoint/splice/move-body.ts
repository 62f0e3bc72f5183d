/** Moves what a client sends, such as the rest of a body, from one socket to another, in a thread of its own. */
import { bodyProgress } from "../connections/stalled.ts";
import { closeDescriptor, KernelPipe, waitForBytes, waitForRoom } from "./kernel-pipe.ts";

export type SpliceTask = {
  /** Descriptors, which the task owns and closes. */
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** One 32-bit number; the task ends when it is not 0. */
  readonly cancelled: SharedArrayBuffer;
  /** A descriptor, which is rung then. */
  readonly bell: number;
};

export type SpliceOutcome = {
  /** Bytes taken from the sender. */
  readonly taken: number;
  readonly end: "complete" | "cancelled" | "senderGone" | "senderStalled" | "receiverGone";
};

/** The interval at which a waiting task looks whether its sender has stalled. */
const lookEveryMs = 1_000;

/** Blocks the thread until the bytes are moved, either side is gone, the sender has stalled, or it is cancelled. */
export function moveBody({ from, to, bytes, cancelled, bell }: SpliceTask): SpliceOutcome {
  const flag = new Int32Array(cancelled);
  const isCancelled = () => Atomics.load(flag, 0) !== 0;
  const progress = new Progress();
  let pipe: KernelPipe | undefined;
  let taken = 0;
  try {
    pipe = new KernelPipe();
    while (taken < bytes) {
      if (isCancelled()) return { taken, end: "cancelled" };
      const moved = pipe.take(from, bytes - taken);
      if (moved === "failed" || moved === 0) return { taken, end: "senderGone" };
      if (moved === "wait") {
        waitForBytes(from, bell, lookEveryMs);
        if (progress.hasStalled(taken)) return { taken, end: "senderStalled" };
        continue;
      }
      taken += moved;
      const end = deliver(pipe, to, bell, isCancelled);
      if (end !== undefined) return { taken, end };
    }
    return { taken, end: "complete" };
  } finally {
    pipe?.close();
    closeDescriptor(from);
    closeDescriptor(to);
  }
}

/** Empties the pipe. Returns why it could not. */
function deliver(
  pipe: KernelPipe,
  to: number,
  bell: number,
  isCancelled: () => boolean,
): "cancelled" | "receiverGone" | undefined {
  while (pipe.held > 0) {
    const given = pipe.give(to);
    if (given === "failed") return "receiverGone";
    if (given === "wait") waitForRoom(to, bell, lookEveryMs);
    if (isCancelled()) return "cancelled";
  }
  return undefined;
}

/** The rule of `bodyProgress`, for the time in which the task waits for the sender. */
class Progress {
  #bytes = 0;
  #at = performance.now();

  hasStalled(bytes: number): boolean {
    const now = performance.now();
    if (bytes - this.#bytes < bodyProgress.leastBytes) return now - this.#at >= bodyProgress.withinMs;
    this.#bytes = bytes;
    this.#at = now;
    return false;
  }
}
