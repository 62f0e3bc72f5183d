/** Time ranges as people write them: `now-1h`, `2024-05-01`, `2024-05-01 10:30`. */
import { counted } from "../lib/format.ts";
import { parseLocal, timeText } from "../lib/zone.ts";

/** Both ends as text, as the URL keeps them. */
export type TimeRange = { readonly from: string; readonly to: string };

export type Bounds = { readonly from: number; readonly to: number };

export const defaultRange: TimeRange = { from: "now-1h", to: "now" };

export const presets: readonly (TimeRange & { readonly label: string })[] = [
  { label: "Last 15 minutes", from: "now-15m", to: "now" },
  { label: "Last hour", from: "now-1h", to: "now" },
  { label: "Last 6 hours", from: "now-6h", to: "now" },
  { label: "Last 24 hours", from: "now-24h", to: "now" },
  { label: "Last 7 days", from: "now-7d", to: "now" },
  { label: "Last 30 days", from: "now-30d", to: "now" },
];

const units: Readonly<Record<string, { readonly ms: number; readonly word: string }>> = {
  s: { ms: 1000, word: "second" },
  m: { ms: 60_000, word: "minute" },
  h: { ms: 3_600_000, word: "hour" },
  d: { ms: 86_400_000, word: "day" },
  w: { ms: 604_800_000, word: "week" },
  y: { ms: 365 * 86_400_000, word: "year" },
};

/** Milliseconds since 1970; undefined for text that is not a time. A time without an offset is in the chosen zone. */
export function parseTime(text: string, now: number): number | undefined {
  const trimmed = text.trim();
  const relative = /^now(?:\s*-\s*(\d{1,6})\s*([smhdwy]))?$/i.exec(trimmed);
  if (relative !== null) {
    return now - Number(relative[1] ?? 0) * (units[(relative[2] ?? "s").toLowerCase()]?.ms as number);
  }
  if (/^\d{12,13}$/.test(trimmed)) return Number(trimmed);
  const date = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:?\d\d)?$/i.exec(trimmed);
  if (date === null) return undefined;
  const local = `${date[1]}T${date[2] ?? "00:00"}`;
  const time = date[3] === undefined ? parseLocal(local) : Date.parse(`${local}${date[3]}`);
  return Number.isNaN(time) ? undefined : time;
}

/** Undefined when an end is not a time, or the range is empty or backwards. */
export function boundsOf(range: TimeRange, now: number): Bounds | undefined {
  const [from, to] = [parseTime(range.from, now), parseTime(range.to, now)];
  if (from === undefined || to === undefined || from >= to) return undefined;
  return { from, to };
}

/** Twice as long around the same middle, and not into the future; undefined for no range. */
export function widened(range: TimeRange, now: number): TimeRange | undefined {
  const bounds = boundsOf(range, now);
  if (bounds === undefined) return undefined;
  const relative = /^now-(\d+)([smhdwy])$/.exec(range.from);
  if (relative !== null && range.to === "now")
    return { from: `now-${2 * Number(relative[1])}${relative[2]}`, to: "now" };
  const length = bounds.to - bounds.from;
  const to = Math.round(Math.min(now, bounds.to + length / 2));
  return { from: endText(to - 2 * length), to: endText(to) };
}

/** The name of a preset, how long the last time is, or both ends. */
export function rangeText(range: TimeRange): string {
  const preset = presets.find(({ from, to }) => from === range.from && to === range.to);
  const [, count, unit = ""] = (range.to === "now" && /^now-(\d+)([smhdwy])$/.exec(range.from)) || [];
  if (preset !== undefined || count === undefined) return preset?.label ?? `${shown(range.from)} to ${shown(range.to)}`;
  return `Last ${counted(Number(count), units[unit]?.word ?? "")}`;
}

/** A relative end as it was written, any other in the console's zone and to the minute where that is exact. */
function shown(text: string): string {
  const time = /^\s*now/i.test(text) ? undefined : parseTime(text, 0);
  return time === undefined ? text : timeText(time).replace(/:00$/, "");
}

/** An end of a range that was chosen in a chart, to the millisecond and with its offset. */
export function endText(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.000Z$/, "Z");
}
