/** Lets a client that is still sending notice the response before its connection closes. */
import type { IncomingMessage } from "node:http";
import { resumeReading } from "./socket-handle.ts";

/** A client that has seen the response sends nothing more. */
const quietMs = 500;
const mostMs = 10_000;

/**
 * Reads and discards a body. Resolves after `bytes`, when the client closes or sends nothing for a while, or when it
 * takes too long. Closing a connection with unread bytes would take the response from the client.
 */
export function discardBody(message: IncomingMessage, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let left = bytes;
    const done = () => {
      clearTimeout(most);
      clearTimeout(quiet);
      message.off("data", onData).off("close", done);
      resolve();
    };
    const onData = (chunk: Buffer) => {
      left -= chunk.length;
      quiet.refresh();
      if (left <= 0) done();
    };
    const most = setTimeout(done, mostMs);
    const quiet = setTimeout(done, quietMs);
    if (left <= 0 || message.destroyed) return done();
    message.on("data", onData).once("close", done);
    resumeReading(message);
  });
}
