/** Messages between control plane and engine host: about handed-over connections, and about disk. */

import type { AccessChange } from "../../clickhouse/access-change.ts";
import type { AccessEvents } from "../auth/events.ts";
import type { EndpointAccess } from "../auth/logins.ts";
import type { NativeSession } from "../native/session.ts";

/** Further connections of one service stay with their listener, because file descriptors are bounded. */
export const maxConnections = 2_000;

/** `id` identifies the call, or the connection: the latter are smaller than `maxConnections`. */
export type ToHost =
  /** Users and access list from now on. Answered with `admitted`. */
  | { readonly type: "admit"; readonly id: number; readonly facts: EndpointAccess }
  /**
   * Carries a socket. Answered with `taken` before anything is read from it. From a proxy: the address of the client,
   * and in base64 what was read of the client.
   */
  | {
      readonly type: "connection";
      readonly id: number;
      readonly address?: string;
      readonly ahead?: string;
      /** The session of the native protocol; "new" before the login. */
      readonly native?: NativeSession | "new";
    }
  /** See `HandoffSender.drain`. Answered with `drained`. */
  | { readonly type: "drain"; readonly id: number; readonly graceMs: number; readonly unusedForMs?: number }
  /** The disk limit of the service from now on; null: no limit. */
  | { readonly type: "disk"; readonly limitBytes: number | null }
  /** The answer to `access`, with the error for the client. */
  | { readonly type: "accessChanged"; readonly id: number; readonly error?: AccessError };

export type AccessError = { readonly code: number; readonly codeName: string; readonly message: string };

export type FromHost =
  | { readonly type: "admitted"; readonly id: number }
  | { readonly type: "taken"; readonly id: number }
  /** The connection is closed; the control plane must close its end. */
  | { readonly type: "closed"; readonly id: number }
  /** The session of a native connection from now on, with which it can continue elsewhere. */
  | { readonly type: "session"; readonly id: number; readonly session: NativeSession }
  /**
   * A piped native connection rests, and this many bytes of the client were read. If these are all, the control plane
   * may end the pipe and continue elsewhere with the session.
   */
  | { readonly type: "rests"; readonly pipe: string; readonly received: number; readonly session: NativeSession }
  /** The host has released a connection between two requests; another process may serve it. */
  | { readonly type: "released"; readonly id: number }
  | { readonly type: "drained"; readonly id: number; readonly unused: boolean }
  /** Logins and refusals of the last second. */
  | { readonly type: "events"; readonly events: AccessEvents }
  /** A statement about users, roles or grants, by the service's administrator. Answered with `accessChanged`. */
  | { readonly type: "access"; readonly id: number; readonly change: AccessChange }
  /** Queries running on these connections, and when the last one began or ended (milliseconds since 1970). */
  | ({ readonly type: "activity" } & Activity)
  /** Bytes that the service's tables use on disk, every few seconds. */
  | { readonly type: "disk"; readonly usedBytes: number }
  /** Counts asynchronous inserts, every few seconds. */
  | { readonly type: "inserts"; readonly numbers: InsertNumbers };

/** Asynchronous inserts that wait now, and totals since the engine's start. */
export type InsertNumbers = {
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly inserts: number;
  readonly flushes: number;
  readonly failed: number;
};

export const noInserts: InsertNumbers = { waiting: 0, waitingBytes: 0, inserts: 0, flushes: 0, failed: 0 };

export type Activity = { readonly running: number; readonly lastAt: number };
