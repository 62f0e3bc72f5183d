/** What a door tells of visitors: plain data, which travels between processes. */
import type { Counted } from "../../lib/event-tally.ts";

export type DoorEvent = {
  readonly type: "login" | "login_refused" | "address_refused" | "statement_refused";
  readonly user: string;
  readonly address: string;
  /** Why, in the words of the answer. */
  readonly detail: string;
};

export type DoorEvents = readonly Counted<DoorEvent>[];

/** For more different events in a second than are kept apart. */
export function anyVisitor(event: DoorEvent): DoorEvent {
  return { type: event.type, user: "(many)", address: "(many)", detail: "" };
}
