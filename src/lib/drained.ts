import type { Writable } from "node:stream";

/** Resolves when the stream takes more, or is closed. Called after a write that returned false. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off("drain", go).off("close", go);
      resolve();
    };
    stream.once("drain", go).once("close", go);
  });
}
