/** What Node does not offer of a socket: its descriptor, and whether Node reads it at the moment. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";

type Handle = { readonly fd?: number; reading?: boolean; readStop?(): void; readStart?(): number };

/** Attempts to stop: Node's HTTP server resumes a socket a moment after its buffer was emptied. */
const maxAttempts = 5;

/** The descriptor of an open connection without TLS. */
export function descriptorOf(socket: Socket): number | undefined {
  if (socket.destroyed || "encrypted" in socket) return undefined;
  const { fd = -1 } = handleOf(socket);
  return fd >= 0 ? fd : undefined;
}

/**
 * Stops Node from reading a connection or a request's, and hands what it has read of it to `onData`. Resolves with a
 * function that tells whether nothing was read since. Resolves with undefined when the body has ended or Node does not
 * stop: then it must be read as usual.
 */
export async function stopReading(
  message: IncomingMessage | Socket,
  onData: (chunk: Buffer) => void,
): Promise<(() => boolean) | undefined> {
  const socket = "complete" in message ? message.socket : message;
  message.pause();
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    for (let chunk = message.read(); chunk !== null; chunk = message.read()) onData(chunk as Buffer);
    // Node's HTTP parser stops by itself; a stream would read on until its buffer is full.
    if (socket === message) holdReading(socket);
    else socket.pause();
    const { bytesRead } = socket;
    const isStopped = () =>
      handleOf(socket).reading === false && message.readableLength === 0 && socket.bytesRead === bytesRead;
    await setImmediate();
    const isOver = "complete" in message ? message.complete : message.readableEnded;
    if (isOver || message.destroyed || descriptorOf(socket) === undefined) return undefined;
    if (isStopped()) return isStopped;
  }
  return undefined;
}

/**
 * Has Node read no more of a connection, called while a chunk of it is received. A paused socket alone would still read
 * what arrives until its buffer is full. Reading begins again when the socket is resumed.
 */
export function holdReading(socket: Socket): void {
  socket.pause();
  const handle = handleOf(socket);
  handle.readStop?.();
  handle.reading = false;
}

/**
 * Has Node read a connection again after `holdReading`, whenever that was called: the stream may still wait for bytes,
 * so that it would not begin by itself.
 */
export function readAgain(socket: Socket): void {
  const handle = handleOf(socket);
  socket.resume();
  if (handle.reading !== false) return;
  handle.reading = true;
  handle.readStart?.();
}

/** Has Node read a request's body again, after `stopReading`. */
export function resumeReading(message: IncomingMessage): void {
  // The message waits for bytes already, so that it would not resume the connection.
  message.socket.resume();
  message.resume();
}

function handleOf(socket: Socket): Handle {
  return (socket as { _handle?: Handle | null })._handle ?? {};
}
