/** What an alert would have done: windows of the past against the condition. */
import { type AlertCondition, fulfils } from "../../../../src/api/alert-condition.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import type { ChartSeries } from "../../charts/types.ts";
import { type Interval, intervalMs } from "./alert.ts";

const dayMs = 86_400_000;

/** The last day, or as many windows of a long interval as tell something. The end is that of the last whole window. */
export function previewBounds(interval: Interval, nowMs: number): Bounds & { readonly days: number } {
  const sizeMs = intervalMs(interval);
  const days = sizeMs <= 3_600_000 ? 1 : sizeMs < dayMs ? 7 : 30;
  const end = Math.floor(nowMs / sizeMs) * sizeMs;
  // Both ends of a range are part of it.
  return { from: end - days * dayMs, to: end - 1, days };
}

/** The chart with a value per window. */
export function previewChart(chart: ChartDefinition, interval: Interval): ChartDefinition {
  return { ...chart, display: "line", granularity: interval };
}

/** Aggregates that are zero where there are no rows. */
const additive: readonly string[] = ["count", "count_distinct", "sum"];

/** What the server takes as the value of a window without rows. */
export type Empty = {
  /** Groups without rows are not seen; otherwise a window without a value tells nothing. */
  readonly isGrouped: boolean;
  readonly value: number | undefined;
};

export function emptyOf({ groupBy, series }: ChartDefinition): Empty {
  const isGrouped = groupBy.trim() !== "";
  const isZero = !isGrouped && series.every(({ aggFn }) => additive.includes(aggFn));
  return { isGrouped, value: isZero ? 0 : undefined };
}

export type Preview = {
  /** Windows that have a value. */
  readonly windows: number;
  /** Those of them in which one value of one series fulfils the condition. */
  readonly fulfilled: number;
  /** How often it would have been told that the alert fires. */
  readonly alerts: number;
};

/** Counts over windows in their order, by the rules of the server. */
export function previewOf(
  times: readonly number[],
  series: readonly ChartSeries[],
  condition: AlertCondition,
  { inARow, empty }: { readonly inARow: number; readonly empty: Empty },
): Preview {
  let [windows, fulfilled, alerts, run] = [0, 0, 0, 0];
  let isTold = false;
  for (const at of times.keys()) {
    const values = series.flatMap(({ values: all }) => all[at] ?? empty.value ?? []);
    const isFulfilled = values.some((value) => fulfils(value, condition));
    windows += values.length === 0 ? 0 : 1;
    fulfilled += isFulfilled ? 1 : 0;
    run = isFulfilled ? run + 1 : 0;
    // The state before a window that tells nothing counts.
    if (values.length === 0 && !empty.isGrouped) continue;
    // An alert that is told stays one while its condition is fulfilled.
    const fires: boolean = run >= inARow || (run > 0 && isTold);
    if (fires && !isTold) alerts += 1;
    isTold = fires;
  }
  return { windows, fulfilled, alerts };
}
