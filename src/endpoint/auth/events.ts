/** Login events: plain data, which is sent between processes. */
import type { Counted } from "../../lib/event-tally.ts";

export type DoorEvent = {
  readonly type: "login" | "login_refused" | "address_refused" | "statement_refused";
  readonly user: string;
  readonly address: string;
  /** The reason, in the words of the response. */
  readonly detail: string;
};

export type DoorEvents = readonly Counted<DoorEvent>[];

/** Replaces the event when one second has more different events than are kept apart. */
export function anyVisitor(event: DoorEvent): DoorEvent {
  return { type: event.type, user: "(many)", address: "(many)", detail: "" };
}
