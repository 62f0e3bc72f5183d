/** How long a service ran in each minute of the last day. */

export const stepSeconds = 60;
const stepMs = stepSeconds * 1000;
const dayMinutes = 1_440;

type RanMinute = { readonly at: number; readonly minutes: number };

type Times = {
  /** The beginning of the first share. */
  readonly first: number;
  readonly created: number;
  readonly now: number;
};

/** `shares` of minutes, which are means of what is known: a minute counts for the time that has passed in it. */
export function ranMinutes(shares: readonly (number | null)[], { first, created, now }: Times): RanMinute[] {
  const minutes = shares.map((share, index) => {
    const at = first + index * stepMs;
    const passedMs = Math.max(0, Math.min(at + stepMs, now) - Math.max(at, created));
    return { at, minutes: ((share ?? 0) * passedMs) / stepMs };
  });
  return minutes.filter(({ at }) => at < now).slice(-dayMinutes);
}
