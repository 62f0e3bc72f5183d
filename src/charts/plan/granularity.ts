import type { Granularity } from "../../api/charts.ts";

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The size of a bucket of a chart, in ms. */
export const granularityMs: Readonly<Record<Exclude<Granularity, "auto">, number>> = {
  "30s": 30 * secondMs,
  "1m": minuteMs,
  "5m": 5 * minuteMs,
  "10m": 10 * minuteMs,
  "15m": 15 * minuteMs,
  "30m": 30 * minuteMs,
  "1h": hourMs,
  "2h": 2 * hourMs,
  "6h": 6 * hourMs,
  "12h": 12 * hourMs,
  "1d": dayMs,
  "2d": 2 * dayMs,
  "7d": 7 * dayMs,
  "30d": 30 * dayMs,
};

const unitMs: Readonly<Record<string, number>> = { s: secondMs, m: minuteMs, h: hourMs, d: dayMs };

/** The size in ms of a text such as `15s`: a number of seconds, minutes, hours or days. */
export function sizeMsOf(text: string): number {
  return Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? Number.NaN);
}
