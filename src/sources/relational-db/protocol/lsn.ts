/** Log positions, and places in the stream of changes. */

/** `16/B374D848` as a number. */
export function parseLsn(text: string): bigint {
  const [, high, low] = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(text) ?? [];
  if (high === undefined || low === undefined) throw new Error(`not a log position: ${text}`);
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

export function formatLsn(lsn: bigint): string {
  return `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`.toUpperCase();
}

/** Changes of transactions are ordered by (position of the commit, number within the transaction). */
export type StreamPosition = {
  /** The position of the transaction's commit. */
  readonly lsn: bigint;
  /** Number of the last change that is covered; `whole` for the transaction with its end. */
  readonly change: number | "whole";
};

/** `X/Y` for a whole transaction, `X/Y#n` for one up to its change n. */
export function formatPosition({ lsn, change }: StreamPosition): string {
  return change === "whole" ? formatLsn(lsn) : `${formatLsn(lsn)}#${change}`;
}

export function parsePosition(text: string): StreamPosition {
  const [lsn, change] = text.split("#");
  return { lsn: parseLsn(lsn as string), change: change === undefined ? "whole" : Number(change) };
}

/** True when the change is at or before the place. */
export function covers(place: StreamPosition, lsn: bigint, change: number): boolean {
  if (lsn !== place.lsn) return lsn < place.lsn;
  return place.change === "whole" || change <= place.change;
}

/**
 * The version of a row: larger for every later change. Commits have different positions and their order is that of the
 * transactions, so position and number of the change, concatenated as decimal digits, order as the changes do. `late`
 * distinguishes the two rows of one change: the new row is later than the tombstone of the old one.
 */
export function versionText(lsn: bigint, change: number, late: boolean): string {
  return `${lsn}${String(change * 2 + (late ? 1 : 0)).padStart(versionDigits, "0")}`;
}

/** 20 digits of a position and these fit into a UInt128. */
const versionDigits = 13;
