/**
 * Limits what connections hold of this process: incomplete request heads, which use memory before any login, and
 * stalled bodies, which occupy a connection.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { isLoggedIn } from "../auth/logged-in.ts";

/** The state of a connection between two checks. */
export type WatchedConnection = {
  /** Its source: see `networkOf`. */
  readonly network: string;
  /** Bytes read before the first request, negative, or bytes of it that were read from elsewhere: see `readOf`. */
  readonly offset: number;
  /** Requests whose response is not complete. */
  open: number;
  /** Bytes read when the last request ended; -1 while the rest of its body is outstanding. */
  readAtRest: number;
  /** Bytes read when the last head was complete. */
  readAtHead: number;
  /** The last request. */
  message: IncomingMessage | undefined;
  /** Bytes read, and when (ms), at the last check that found progress in the body. */
  moved: { readonly bytes: number; readonly at: number } | undefined;
};

/** Bytes that were read of the client's requests. */
export function readOf(socket: Socket, { offset }: Pick<WatchedConnection, "offset">): number {
  return socket.bytesRead + offset;
}

export type HeadBudget = {
  /** Bytes of incomplete heads: of all connections, and of those from one address. */
  readonly all: number;
  readonly perAddress: number;
};

/** Room for statements of a megabyte in a URL, as long as few are sent at once. */
export const headBudget: HeadBudget = { all: 64 * 1_048_576, perAddress: 16 * 1_048_576 };

/** Minimum progress of a body in this time. A sender that streams rows as they arise achieves it. */
export const bodyProgress = { leastBytes: 1024, withinMs: 60_000 };

type Held = { readonly socket: Socket; readonly network: string; readonly bytes: number };

/** The connections to close so that incomplete heads fit the budget: the largest first. */
export function beyondBudget(
  connections: Iterable<[Socket, WatchedConnection]>,
  budget: HeadBudget = headBudget,
): Socket[] {
  const sums = new Map<string, number>();
  const held: Held[] = [];
  let all = 0;
  for (const [socket, watched] of connections) {
    const bytes = headBytes(socket, watched);
    if (bytes <= 0) continue;
    const { network } = watched;
    held.push({ socket, network, bytes });
    sums.set(network, (sums.get(network) ?? 0) + bytes);
    all += bytes;
  }
  if (all <= Math.min(budget.all, budget.perAddress)) return [];
  const closed: Socket[] = [];
  for (const { socket, network, bytes } of held.sort((a, b) => b.bytes - a.bytes)) {
    const sum = sums.get(network) as number;
    if (all <= budget.all && sum <= budget.perAddress) continue;
    closed.push(socket);
    sums.set(network, sum - bytes);
    all -= bytes;
  }
  return closed;
}

/** Bytes that may belong to a head: read since the last request, or after one whose sender has not logged in. */
function headBytes(socket: Socket, watched: WatchedConnection): number {
  const { open, readAtRest, readAtHead } = watched;
  if (open === 0) return readAtRest < 0 ? 0 : readOf(socket, watched) - readAtRest;
  return isLoggedIn(socket) ? 0 : socket.bytesRead - readAtHead;
}

/**
 * True when a request's body has made almost no progress for too long while this process waited for it. Called
 * periodically.
 */
export function isStalled(socket: Socket, watched: WatchedConnection, nowMs: number, rule = bodyProgress): boolean {
  const { message } = watched;
  if (message === undefined || message.complete || watched.open === 0) {
    watched.moved = undefined;
    return false;
  }
  const bytes = socket.bytesRead;
  // Bytes that have arrived unread wait for us. An iterating reader pauses the stream as well, and still waits for
  // data.
  const isOurs = message.readableLength > 0 || (message.isPaused() && message.listenerCount("readable") === 0);
  if (isOurs || watched.moved === undefined || bytes - watched.moved.bytes >= rule.leastBytes) {
    watched.moved = { bytes, at: nowMs };
    return false;
  }
  return nowMs - watched.moved.at >= rule.withinMs;
}
