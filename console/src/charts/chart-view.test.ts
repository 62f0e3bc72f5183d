import { expect, test } from "vitest";
import { dataOf } from "./chart-view.tsx";
import { chartDefinition, seriesNames } from "./definition.ts";
import type { ChartAnswer } from "./use-chart.ts";

test("counts and sums can be stacked, averages and extremes never are", () => {
  const series = ["count", "sum", "avg", "max", "count_distinct"].map((aggFn) => ({ aggFn, field: "n" }));
  const definition = chartDefinition({ series });
  const members = series.map((_, at) => `series_${at}.data`);
  const data = [{ ts_bucket: 0, group: [] }];
  const answer = { data, meta: { bucketMs: 1, asOf: new Date(9).toISOString() } } as unknown as ChartAnswer;
  const shown = dataOf(definition, answer, seriesNames(definition.series), members);
  expect(shown.series.map(({ isAlone }) => isAlone)).toEqual([false, false, true, true, true]);
  const formula = dataOf({ ...definition, formula: "series_0 / 2" }, answer, ["series_0 / 2"], ["formula.data"]);
  expect(formula.series.map(({ isAlone }) => isAlone)).toEqual([true]);
});
