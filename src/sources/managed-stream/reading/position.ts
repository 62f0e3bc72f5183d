/**
 * A pipe's position in a shard, as text. A Kinesis record may hold several user records, so there are two forms:
 * `sequence` for a whole record, and `sequence.sub` for one of its user records, counted from 0.
 */
import type { StartAt } from "../stream.ts";

/** Both ends are included; with `after` the first one is not. */
export type SequenceRange = { readonly first: string; readonly last: string; readonly after?: true };

export function positionText(sequence: string, sub: number | undefined): string {
  return sub === undefined ? sequence : `${sequence}.${sub}`;
}

/** Where to continue after the position: at its own record if that has further user records. */
export function startAfter(position: string): StartAt {
  const { sequence, sub } = parse(position);
  return { from: sub === undefined ? "after" : "at", sequence };
}

export function sequenceOf(position: string): string {
  return parse(position).sequence;
}

/** True when the position is after the other, or after the whole record that the other names. */
export function isBehind(position: string, other: string): boolean {
  const [mine, theirs] = [parse(position), parse(other)];
  const order = compareSequences(mine.sequence, theirs.sequence);
  if (order !== 0 || theirs.sub === undefined) return order > 0;
  return (mine.sub ?? Number.POSITIVE_INFINITY) > theirs.sub;
}

export function isWithin(position: string, { first, last, after }: SequenceRange): boolean {
  if (isBehind(position, last)) return false;
  return position === first ? after !== true : isBehind(position, first);
}

export function rangeText({ first, last, after }: SequenceRange): string {
  return `${after === true ? ">" : ""}${first}-${last}`;
}

/** Decimal numbers of any length, without leading zeros. */
export function compareSequences(a: string, b: string): number {
  if (a === b) return 0;
  return a.length - b.length || (a < b ? -1 : 1);
}

function parse(position: string): { readonly sequence: string; readonly sub: number | undefined } {
  const dot = position.indexOf(".");
  if (dot < 0) return { sequence: position, sub: undefined };
  return { sequence: position.slice(0, dot), sub: Number(position.slice(dot + 1)) };
}
