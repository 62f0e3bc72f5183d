/**
 * Random charts over random tables, and their expected results: computed directly from the rows by the rules in
 * `docs/charts.md`, without any code of the charts room. Wall clocks are read with `Intl`.
 */
import type { RequestInput } from "../engine/chart-engine.ts";
import type { Dice } from "../random.ts";
import type { ModelRow, ModelTable } from "./model.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const sizesMs = {
  ...{ "30s": 30_000, "1m": 60_000, "5m": 300_000, "10m": 600_000, "15m": 900_000, "30m": 1_800_000, "1h": hourMs },
  ...{ "2h": 2 * hourMs, "6h": 6 * hourMs, "12h": 12 * hourMs, "1d": dayMs, "2d": 2 * dayMs, "7d": 7 * dayMs },
  "30d": 30 * dayMs,
} as const;

type Filter = { readonly where: string; readonly keep: (row: ModelRow) => boolean };
const filters: readonly Filter[] = [
  { where: "", keep: () => true },
  { where: "b:x", keep: ({ b }) => b === "x" },
  { where: "-b:x", keep: ({ b }) => b !== "x" },
  { where: "n:>=500", keep: ({ n }) => n !== null && n >= 500 },
  { where: "f:<0", keep: ({ f }) => f < 0 },
  { where: "n:[5000 TO *]", keep: () => false },
];

type Field = { readonly field: string; readonly numberOf: (row: ModelRow) => number | null };
const fields: readonly Field[] = [
  { field: "n", numberOf: ({ n }) => n },
  { field: "big", numberOf: ({ big }) => Number(big) },
  { field: "f", numberOf: ({ f }) => f },
  { field: "dec", numberOf: ({ dec }) => dec / 1000 },
];

const aggregates = ["count", "sum", "avg", "min", "max", "count_distinct", "quantile"] as const;

export type PlainSeries = Filter & Field & { readonly aggFn: (typeof aggregates)[number]; readonly level: number };
export type PlainChart = {
  readonly request: RequestInput;
  readonly series: readonly PlainSeries[];
  readonly groupOf: ((row: ModelRow) => string) | undefined;
};

/** A chart of the source, somewhere near `centerMs`, in one of the zones. */
export function randomChart(dice: Dice, sourceId: string, centerMs: number, zones: readonly string[]): PlainChart {
  const granularity = dice.pick(Object.keys(sizesMs) as (keyof typeof sizesMs)[]);
  const longest = Math.min(7 * dayMs, sizesMs[granularity] * 5_000);
  const startTime = Math.max(0, centerMs + dice.below(5 * dayMs) - 3 * dayMs);
  const group = dice.pick([undefined, undefined, "b", "k"] as const);
  const series = Array.from({ length: 1 + dice.below(5) }, (): PlainSeries => {
    const aggFn = dice.pick(aggregates);
    return { ...dice.pick(filters), ...dice.pick(fields), aggFn, level: dice.pick([0, 0.5, 0.95, 1]) };
  });
  return {
    request: {
      startTime,
      endTime: Math.max(startTime + dice.below(longest), 100_000_000_000),
      granularity,
      timezone: dice.pick(zones),
      series: series.map(({ where, field, aggFn, level }) => ({
        ...{ sourceId, where, aggFn, groupBy: group === undefined ? [] : [group] },
        ...(aggFn === "count" ? {} : { field }),
        ...(aggFn === "quantile" ? { level } : {}),
      })),
    },
    series,
    groupOf: group === undefined ? undefined : (row) => String(row[group]),
  };
}

export type PlainAnswer = Map<string, { readonly values: readonly (number | null)[] }>;

/** The expected result, by start of the bucket and group. */
export function plainAnswer({ rows }: ModelTable, { request, series, groupOf }: PlainChart): PlainAnswer {
  const { startTime, endTime, granularity, timezone = "UTC" } = request;
  const size = sizesMs[granularity as keyof typeof sizesMs];
  const cells = new Map<string, ModelRow[]>();
  for (const row of rows) {
    const ms = Number(row.time / 1_000_000n);
    if (ms < startTime || ms > endTime || !series.some(({ keep }) => keep(row))) continue;
    const key = JSON.stringify([bucketOf(ms, size, timezone, startTime), groupOf?.(row) ?? ""]);
    cells.set(key, [...(cells.get(key) ?? []), row]);
  }
  return new Map([...cells].map(([key, members]) => [key, { values: series.map((one) => plainValue(one, members)) }]));
}

function plainValue({ aggFn, keep, numberOf, level }: PlainSeries, members: readonly ModelRow[]): number | null {
  const kept = members.filter(keep);
  if (aggFn === "count") return kept.length;
  const values = kept.map(numberOf).filter((value) => value !== null);
  if (aggFn === "sum") return values.reduce((sum, value) => sum + value, 0);
  if (aggFn === "count_distinct") return new Set(kept.map(numberOf).filter((value) => value !== null)).size;
  if (values.length === 0) return null;
  if (aggFn === "avg") return values.reduce((sum, value) => sum + value / values.length, 0);
  const sorted = values.sort((a, b) => a - b);
  if (aggFn === "min") return sorted[0] as number;
  if (aggFn === "max") return sorted.at(-1) as number;
  const rank = level * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)] as number, sorted[Math.ceil(rank)] as number];
  return low + (rank - Math.floor(rank)) * (high - low);
}

/** The start of an instant's bucket. */
export function bucketOf(ms: number, size: number, zone: string, startMs: number): number {
  if (size <= hourMs || zone === "UTC") {
    const shift = offsetAt(startMs, zone);
    return Math.floor((ms + shift) / size) * size - shift;
  }
  const local = Math.floor((ms + offsetAt(ms, zone)) / size) * size;
  // A day that has begun continues, although clocks put back show the previous day once more.
  const next = firstInstant(local + size, zone);
  return next <= ms ? next : firstInstant(local, zone);
}

/** The first instant at which the zone's clocks show the local time or a later one. */
function firstInstant(local: number, zone: string): number {
  let low = local - 30 * hourMs;
  const shows = (ms: number) => ms + offsetAt(ms, zone) >= local;
  // Clocks put back may show earlier times again: search in steps no longer than the smallest change.
  while (!shows(low + 900_000)) low += 900_000;
  let high = low + 900_000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (shows(middle)) high = middle;
    else low = middle;
  }
  return high;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();

function offsetAt(ms: number, zone: string): number {
  if (zone === "UTC") return 0;
  // Clocks change only at the start of a minute; a few did not before 1972.
  const key = `${zone} ${Math.floor(ms / 1000)}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const format = formats.get(zone) ?? new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  formats.set(zone, format);
  const text = format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
  const [, sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text) as RegExpExecArray;
  const size = Number(hours ?? 0) * hourMs + Number(minutes ?? 0) * 60_000 + Number(seconds ?? 0) * 1000;
  const offset = sign === "-" ? -size : size;
  if (offsets.size > 100_000) offsets.clear();
  offsets.set(key, offset);
  return offset;
}
