/**
 * The number that is typed, in a unit of this size. Other text stays text, which the server refuses at its member: JSON
 * would have null for NaN, which stands for a default or for no limit.
 */
export function typedNumber(text: string, unit = 1): number {
  const typed = text.trim();
  const number = typed === "" ? Number.NaN : Number(typed);
  return Number.isFinite(number) ? number * unit : (typed as unknown as number);
}
