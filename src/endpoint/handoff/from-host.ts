/**
 * What an engine host says, as the control plane keeps it. A host that was taken over says anything: every function
 * here throws at what no host says, and then the host is killed (see `guardChannel`).
 */
import type { CountedEvent } from "../../lib/event-counter.ts";
import { type AccessEvent, type AccessEvents, shortened } from "../auth/events.ts";
import { maxSessionCharacters, type NativeSession } from "../native/session.ts";
import { type Activity, type InsertNumbers, noInserts } from "./messages.ts";
import { notAhead } from "./not-ahead.ts";

/** More than one second of a host's counter, with the one that stands for many. */
const maxEvents = 1_000;
/** Names, and what JSON adds to a session. */
const maxSessionFacts = 10_000;
const types: ReadonlySet<unknown> = new Set<AccessEvent["type"]>([
  "login",
  "login_refused",
  "address_refused",
  "statement_refused",
]);

export function activityOf({ running, lastAt }: Activity): Activity {
  if (!(running >= 0) || !(lastAt >= 0)) throw new Error("the activity is not a number");
  // A host cannot keep its service awake by a time in the future.
  return { running: Number(running), lastAt: notAhead(Number(lastAt)) };
}

/** Events of several hosts are written together: a wrong one would take the others with it. */
export function eventsOf(told: unknown): AccessEvents {
  if (!Array.isArray(told) || told.length > maxEvents) throw new Error("the events are not a list");
  return told.map((one) => countedOf(one as CountedEvent<AccessEvent>));
}

function countedOf({ event, count, firstAt, lastAt }: CountedEvent<AccessEvent>): CountedEvent<AccessEvent> {
  const { type, user, address, detail } = event;
  const texts = [user, address, detail];
  if (!types.has(type) || !texts.every((text) => typeof text === "string"))
    throw new Error("an event is neither a login nor a refusal");
  if (!Number.isSafeInteger(count) || count < 1) throw new Error("the count of an event is not a number");
  if (!(firstAt >= 0 && lastAt >= 0)) throw new Error("the time of an event is not a number");
  const times = { firstAt: notAhead(firstAt), lastAt: notAhead(lastAt) };
  return { event: shortened({ type, user, address, detail }), count, ...times };
}

/** A session is kept as long as its connection rests, and is the next host's then. */
export function sessionOf(told: unknown): NativeSession {
  const { user, passwordSha256Hex, revision, database, settings, parameters } = told as NativeSession;
  const areTexts = [user, passwordSha256Hex, database].every((text) => isText(text, maxSessionCharacters));
  if (!areTexts || !Number.isSafeInteger(revision)) throw new Error("a session has no user, database or revision");
  for (const pairs of [settings, parameters]) {
    const arePairs = Array.isArray(pairs) && pairs.every((pair) => Array.isArray(pair) && pair.length === 2);
    if (!arePairs || !pairs.flat().every((text) => isText(text, maxSessionCharacters))) {
      throw new Error("a session has settings or parameters that are not texts");
    }
  }
  const session = { user, passwordSha256Hex, revision, database, settings, parameters };
  const size = [...settings, ...parameters].flat().reduce((sum, text) => sum + text.length, 0);
  if (size + user.length + database.length > maxSessionCharacters + maxSessionFacts) {
    throw new Error("a session is too large");
  }
  return session;
}

function isText(value: unknown, most: number): value is string {
  return typeof value === "string" && value.length <= most;
}

/** A host's numbers of asynchronous inserts, by the names of this program alone. */
export function insertsOf(numbers: InsertNumbers): InsertNumbers {
  const read = Object.keys(noInserts).map((name) => [name, Number(numbers[name as keyof InsertNumbers])] as const);
  if (read.some(([, value]) => !(value >= 0))) throw new Error("the asynchronous inserts are not numbers");
  return Object.fromEntries(read) as InsertNumbers;
}
