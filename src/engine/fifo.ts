/**
 * Named pipes. The reading end is driven by the event loop and holds no thread. The writing end writes large pieces on
 * a thread of the pool: the event loop would be woken for every page that the engine has read, which was measured to
 * cost twice the engine's own work. A write waits for nothing but the engine's reading of a pipe that it has opened, so a
 * few threads serve any number of inserts.
 */
import { closeSync, constants, openSync, readSync, writev } from "node:fs";
import { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pLimit from "p-limit";

/** Threads of the pool that may wait for the engine to read a pipe. */
export const writerThreads = Math.max(8, availableParallelism());

const writeNow = promisify(writev);
const inTurn = pLimit(writerThreads);

const writeSome = (fd: number, parts: readonly Buffer[]) => inTurn(() => writeNow(fd, parts));

/** Opens the reading end, which never waits for a writer. */
export function openReader(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** What comes out of a reading end; ends when the engine has opened and closed the pipe, or after `finishReading`. */
export function streamOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false });
}

const scratch = Buffer.alloc(65_536);

/** Gives what is in the pipe and closes it; false, and open still, when the engine has not closed its end. */
export function readRest(fd: number, give: (chunk: Buffer) => void): boolean {
  try {
    for (let size = readSync(fd, scratch); size > 0; size = readSync(fd, scratch)) {
      give(Buffer.from(scratch.subarray(0, size)));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
    throw error;
  }
  closeSync(fd);
  return true;
}

/** Lets a reader end that the engine may never have opened: what is in the pipe is delivered first. */
export function finishReading(path: string): void {
  closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
}

/** The writing end of a pipe that the engine reads. One write at a time. */
export class PipeWriter {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** False when the engine has closed its end: nothing more will be read. */
  async write(parts: readonly Buffer[]): Promise<boolean> {
    try {
      let left = parts;
      while (left.length > 0) left = behind(left, (await writeSome(this.#fd, left)).bytesWritten);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EPIPE") return false;
      throw error;
    }
  }

  /** The engine sees the end of the data. */
  close(): void {
    closeSync(this.#fd);
  }
}

/** What is left of the parts after the first `bytes`. */
function behind(parts: readonly Buffer[], bytes: number): readonly Buffer[] {
  let at = 0;
  let skip = bytes;
  for (; at < parts.length && skip >= (parts[at] as Buffer).length; at += 1) skip -= (parts[at] as Buffer).length;
  return at === parts.length ? [] : [(parts[at] as Buffer).subarray(skip), ...parts.slice(at + 1)];
}

/** Waits until the engine has the pipe open for reading. Undefined when `over` is true before that. */
export async function openWriter(path: string, over: () => boolean): Promise<PipeWriter | undefined> {
  for (let waitMs = 0; !over(); waitMs = Math.min(waitMs + 1, 20)) {
    try {
      const probe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return new PipeWriter(reopenBlocking(path, probe));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
    }
    await delay(waitMs);
  }
  return undefined;
}

/** With an end for reading of our own the open cannot block, even if the engine leaves just now. */
function reopenBlocking(path: string, probe: number): number {
  const both = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  // Last: without any writer the engine would see the end of the data.
  for (const helper of [both, probe]) closeSync(helper);
  return fd;
}
