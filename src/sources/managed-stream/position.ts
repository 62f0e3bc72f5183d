/**
 * Where a pipe stands in a shard. A Kinesis record may hold several user records, so a position has two parts: the
 * record's sequence number, and the number of the user record within it.
 */
import type { Json } from "../source.ts";
import type { StartAt } from "./stream.ts";

/** `more`: the Kinesis record holds further user records behind this one. */
export type Spot = { readonly sequence: string; readonly sub: number; readonly more: boolean };

/** Both ends included. */
export type Range = { readonly first: Spot; readonly last: Spot };

export function spotOf(checkpoint: Json | undefined): Spot | undefined {
  return checkpoint === undefined || checkpoint === null ? undefined : (checkpoint as unknown as Spot);
}

/** Where to go on behind the spot: at its own record if a part of that is left. */
export function startAfter(spot: Spot): StartAt {
  return { from: spot.more ? "at" : "after", sequence: spot.sequence };
}

/** As it stands in the error table and in ids. */
export function spotText(spot: Pick<Spot, "sequence" | "sub">): string {
  return spot.sub === 0 ? spot.sequence : `${spot.sequence}.${spot.sub}`;
}

/** Negative when `a` comes first. Sequence numbers are decimal numbers of any length, without leading zeros. */
export function compareSpots(a: Pick<Spot, "sequence" | "sub">, b: Pick<Spot, "sequence" | "sub">): number {
  return compareSequences(a.sequence, b.sequence) || a.sub - b.sub;
}

export function compareSequences(a: string, b: string): number {
  if (a === b) return 0;
  return a.length - b.length || (a < b ? -1 : 1);
}
