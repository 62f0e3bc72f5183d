/** Login events: plain data, which is sent between processes. */
import type { CountedEvent } from "../../lib/event-counter.ts";

export type AccessEvent = {
  readonly type: "login" | "login_refused" | "address_refused" | "statement_refused";
  readonly user: string;
  readonly address: string;
  /** The reason, in the words of the response. */
  readonly detail: string;
};

export type AccessEvents = readonly CountedEvent<AccessEvent>[];

/** Replaces the event when one second has more different events than are kept apart. */
export function anyPrincipal(event: AccessEvent): AccessEvent {
  return { type: event.type, user: "(many)", address: "(many)", detail: "" };
}
