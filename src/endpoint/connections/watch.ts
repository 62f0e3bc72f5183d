/**
 * What connections may hold of this process: heads of requests that are not complete, which cost memory before anybody
 * has logged in, and bodies that hardly move, which hold a place for nothing.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { isLoggedIn } from "../auth/logged-in.ts";

/** What is known of a connection between two looks at it. */
export type Watched = {
  /** Where it comes from: see `networkOf`. */
  readonly network: string;
  /** Requests whose answer has not left yet. */
  open: number;
  /** How many bytes had been read when the last request was over; -1 while the rest of its body is still to come. */
  readAtRest: number;
  /** How many bytes had been read when the last head was complete. */
  readAtHead: number;
  /** The last request. */
  message: IncomingMessage | undefined;
  /** Bytes read, and when (ms), at the last time the body was seen to move. */
  moved: { readonly bytes: number; readonly at: number } | undefined;
};

export type HeadBudget = {
  /** Bytes of incomplete heads of all connections, and of those from one address. */
  readonly all: number;
  readonly perAddress: number;
};

/** Room for statements of a megabyte in a URL, as long as few send them at once. */
export const headBudget: HeadBudget = { all: 64 * 1_048_576, perAddress: 16 * 1_048_576 };

/** A body must move by this much in this time. A sender that streams rows as they come does. */
export const bodyProgress = { leastBytes: 1024, withinMs: 60_000 };

type Held = { readonly socket: Socket; readonly network: string; readonly bytes: number };

/** The connections to close so that incomplete heads fit the budget: those that hold most first. */
export function beyondBudget(connections: Iterable<[Socket, Watched]>, budget: HeadBudget = headBudget): Socket[] {
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

/** What may be a part of a head: read since the last request, or behind one whose sender has not logged in. */
function headBytes(socket: Socket, { open, readAtRest, readAtHead }: Watched): number {
  if (open === 0) return readAtRest < 0 ? 0 : socket.bytesRead - readAtRest;
  return isLoggedIn(socket) ? 0 : socket.bytesRead - readAtHead;
}

/** Whether a request's body has hardly moved for too long although it was waited for. To be asked now and then. */
export function hardlyMoves(socket: Socket, watched: Watched, nowMs: number, rule = bodyProgress): boolean {
  const { message } = watched;
  if (message === undefined || message.complete || watched.open === 0) {
    watched.moved = undefined;
    return false;
  }
  const bytes = socket.bytesRead;
  // What has come and is not read yet waits for us. A reader that iterates pauses as well, and is there to be told.
  const isOurs = message.readableLength > 0 || (message.isPaused() && message.listenerCount("readable") === 0);
  if (isOurs || watched.moved === undefined || bytes - watched.moved.bytes >= rule.leastBytes) {
    watched.moved = { bytes, at: nowMs };
    return false;
  }
  return nowMs - watched.moved.at >= rule.withinMs;
}
