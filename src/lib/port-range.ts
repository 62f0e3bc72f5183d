/** A range of TCP ports, both ends included. */
export type PortRange = { readonly first: number; readonly last: number };

/** Parses `21000-21999`. Throws with a reason. */
export function parsePortRange(text: string): PortRange {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? [];
  const range = { first: Number(first), last: Number(last) };
  if (first === undefined || range.first < 1 || range.last > 65_535 || range.first > range.last) {
    throw new Error("must be two ports from 1 to 65535, as in 21000-21999");
  }
  return range;
}

/** The same, or undefined for `none`. */
export function parsePorts(text: string): PortRange | undefined {
  return text === "none" ? undefined : parsePortRange(text);
}
