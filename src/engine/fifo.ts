/**
 * Named pipes without holding a thread: both ends are opened non-blocking and driven by the event loop. The engine
 * opens the other end when its query gets that far, or never, when the query fails before.
 */
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Opens the reading end; ends when the engine has opened and closed the pipe, or after `finishReading`. */
export function openReader(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** Lets a reader end that the engine may never have opened: what is in the pipe is delivered first. */
export function finishReading(path: string): void {
  closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
}

/** Waits until the engine has the pipe open for reading. Undefined when `over` is true before that. */
export async function openWriter(path: string, over: () => boolean): Promise<Socket | undefined> {
  for (let waitMs = 0; !over(); waitMs = Math.min(waitMs + 1, 20)) {
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return new Socket({ fd, readable: false, writable: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
    }
    await delay(waitMs);
  }
  return undefined;
}
