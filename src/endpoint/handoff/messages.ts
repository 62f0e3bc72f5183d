/** What control plane and engine host say to each other: about connections that were handed over, and about disk. */
import type { DoorFacts } from "../auth/door.ts";
import type { DoorEvents } from "../auth/events.ts";

/** More connections than this of one service stay with their listener: file descriptors are bounded. */
export const maxConnections = 2_000;

/** `id` names the call that is answered, or the connection: those are smaller than `maxConnections`. */
export type ToHost =
  /** Users and access list from now on. Answered with `admitted`. */
  | { readonly type: "admit"; readonly id: number; readonly facts: DoorFacts }
  /** A socket travels with it. Answered with `taken` before anything of it is read. */
  | { readonly type: "connection"; readonly id: number }
  /** See `HandOver.drain`. Answered with `drained`. */
  | { readonly type: "drain"; readonly id: number; readonly graceMs: number; readonly unusedForMs?: number }
  /** What the service may use of the disk from now on; null: no limit. */
  | { readonly type: "disk"; readonly limitBytes: number | null };

export type FromHost =
  | { readonly type: "admitted"; readonly id: number }
  | { readonly type: "taken"; readonly id: number }
  /** The connection is over; the other end of it in the control plane is to be closed. */
  | { readonly type: "closed"; readonly id: number }
  /** The host lets go of a connection between two requests; somebody else may serve it. */
  | { readonly type: "released"; readonly id: number }
  | { readonly type: "drained"; readonly id: number; readonly unused: boolean }
  /** Logins and refusals of the last second. */
  | { readonly type: "events"; readonly events: DoorEvents }
  /** Queries running on these connections, and when the last one began or ended (milliseconds since 1970). */
  | ({ readonly type: "activity" } & Activity)
  /** What the service's tables take on disk, every few seconds. */
  | { readonly type: "disk"; readonly usedBytes: number };

export type Activity = { readonly running: number; readonly lastAt: number };
