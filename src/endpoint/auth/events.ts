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

const maxUser = 200;
const maxAddress = 100;
const maxDetail = 500;

/** The event with bounded texts, because they come from clients, also from those that may not log in. */
export function shortened({ type, user, address, detail }: AccessEvent): AccessEvent {
  const short = { user: user.slice(0, maxUser), address: address.slice(0, maxAddress) };
  return { type, ...short, detail: detail.slice(0, maxDetail) };
}

/** Replaces the event when one second has more different events than are kept apart. */
export function anyPrincipal(event: AccessEvent): AccessEvent {
  return { type: event.type, user: "(many)", address: "(many)", detail: "" };
}
