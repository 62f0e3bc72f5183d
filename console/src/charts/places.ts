/** Where things are in a chart: the value under a pointer, buckets that are not whole, series of the right axis. */
import { timeText } from "../lib/zone.ts";
import type { ChartData, ChartDisplay, Places } from "./types.ts";

/** The place whose bar lies over a time; of lines, the nearest one. Undefined without values. */
export function placeAt(
  { times, display }: Pick<ChartData, "times"> & { readonly display: ChartDisplay },
  ms: number,
): number | undefined {
  if (times.length === 0) return undefined;
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((times[middle] as number) <= ms) low = middle;
    else high = middle - 1;
  }
  const next = times[low + 1];
  const isNearer = display !== "bar" && next !== undefined && next - ms < ms - (times[low] as number);
  return isNearer ? low + 1 : low;
}

/** The first and the last ms of a bucket in the range. Some days have 23 or 25 hours, so the next bucket tells. */
export function spanAt(
  { times, from = 0, to }: Pick<ChartData, "times"> & { readonly from?: number; readonly to?: number },
  at: number,
): [number, number] {
  const [begin = 0, next] = times.slice(at, at + 2);
  return [Math.max(from, begin), next === undefined ? (to ?? begin) : next - 1];
}

export function isWhole(whole: Places | undefined, at: number): boolean {
  return whole === undefined || (at >= whole.first && at < whole.end);
}

/** The newest place of whole buckets at which a series has a value: what is read beside each other is of one time. */
export function newestPlace({ series, whole }: Pick<ChartData, "series" | "whole">): number {
  const ends = series.map(({ values }) => values.slice(0, whole?.end).findLastIndex((value) => value !== null));
  const newest = Math.max(-1, ...ends);
  return newest < (whole?.first ?? 0) ? -1 : newest;
}

/** The time of a place, and that its bucket is cut by the range or not over. */
export function placeText({ times, whole }: Pick<ChartData, "times" | "whole">, at: number): string {
  const text = timeText(times[at] ?? Number.NaN);
  return isWhole(whole, at) ? text : `${text}, ${at < (whole?.first ?? 0) ? "cut by the range" : "unfinished"}`;
}

/** Above this, the smaller of two measures would be a line along the axis. */
const mostRatio = 20;

/** Lines of measures that are much smaller than the greatest one: the right axis measures them. */
export function rightSeries({
  series,
  display,
  hidden,
}: Pick<ChartData, "series"> & {
  readonly display: ChartDisplay;
  readonly hidden: ReadonlySet<string>;
}): ReadonlySet<number> {
  const most = new Map<number, number>();
  for (const { name, values, measure = 0 } of series) {
    if (hidden.has(name)) continue;
    const greatest = values.reduce<number>((max, value) => Math.max(max, Math.abs(value ?? 0)), 0);
    most.set(measure, Math.max(most.get(measure) ?? 0, greatest));
  }
  const greatest = Math.max(0, ...most.values());
  const isSmall = (measure: number) => (most.get(measure) ?? greatest) * mostRatio < greatest;
  if (display !== "line") return new Set();
  return new Set(series.flatMap(({ measure = 0 }, index) => (isSmall(measure) ? [index] : [])));
}
