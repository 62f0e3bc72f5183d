/** From the histograms that the engine has added, one row for each set of bounds, to one value per bucket and group. */
import type { SeriesItem } from "../../api/charts.ts";
import { type Cell, type PlanRow, readGroup } from "../plan/cells.ts";
import { type Histogram, quantileOf, total } from "./quantile.ts";

/** What is asked of the histograms of a series. */
export type HistogramSeries = { readonly aggFn: SeriesItem["aggFn"]; readonly level: number | undefined };

type Merged = { readonly bucket: number; readonly group: readonly Cell[]; readonly series: Part[] };
type Part = { readonly histograms: Histogram[]; sum: number };

/**
 * Adds the rows of one bucket and group, which differ in their bounds. `areNumbers` says which groups are numbers in
 * text.
 */
export function readHistograms(
  rows: readonly (readonly Cell[])[],
  areNumbers: readonly boolean[],
  series: readonly HistogramSeries[],
): PlanRow[] {
  const merged = new Map<string, Merged>();
  const width = areNumbers.length;
  for (const row of rows) {
    const bucket = Number(row[0]);
    const group = areNumbers.map((isNumber, i) => readGroup(row[i + 1] ?? null, isNumber));
    const key = `${bucket}${JSON.stringify(group)}`;
    let one = merged.get(key);
    if (one === undefined) {
      one = { bucket, group, series: series.map(() => ({ histograms: [], sum: 0 })) };
      merged.set(key, one);
    }
    const bounds = numbers(row[1 + width]);
    for (const [i, part] of one.series.entries()) {
      part.histograms.push({ bounds, counts: numbers(row[2 + width + 2 * i]) });
      part.sum += Number(row[3 + width + 2 * i]);
    }
  }
  return [...merged.values()].map(({ bucket, group, series: parts }) => ({
    bucket,
    group,
    values: parts.map((part, i) => partValue(part, series[i] as HistogramSeries)),
  }));
}

function numbers(cell: Cell | undefined): number[] {
  return Array.isArray(cell) ? cell.map(Number) : [];
}

function partValue({ histograms, sum }: Part, { aggFn, level }: HistogramSeries): number | null {
  const count = histograms.reduce((all, { counts }) => all + total(counts), 0);
  switch (aggFn) {
    case "count":
      return count;
    case "sum":
      return sum;
    case "avg":
      return count === 0 ? null : sum / count;
    default:
      return quantileOf(histograms, level ?? 0.5);
  }
}
