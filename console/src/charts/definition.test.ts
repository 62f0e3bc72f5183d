import { expect, test } from "vitest";
import { chartDefinition, missingIn, newChart, newSeries, requestOf, seriesNames, splitList } from "./definition.ts";

const bounds = { from: 1_000_000_000_000, to: 1_000_003_600_000 };

test("anything that was kept becomes a definition that can be asked for", () => {
  expect(chartDefinition(undefined, "s")).toEqual(newChart("s"));
  expect(
    chartDefinition({ sourceId: 5, series: [{ aggFn: "drop", level: 7 }, null], display: "pie", limit: -1 }, "s"),
  ).toEqual({
    ...newChart("s"),
    series: [newSeries, newSeries],
  });
});

test("commas in parentheses and quotes separate nothing", () => {
  expect(splitList("a, concat(b, ',') , c['x,y'],")).toEqual(["a", "concat(b, ',')", "c['x,y']"]);
});

test("a request never wakes by itself, and tables have no buckets", () => {
  const chart = { ...newChart("s"), groupBy: "Service, Level" };
  expect(requestOf(chart, bounds, "UTC", "never")).toMatchObject({
    series: [{ sourceId: "s", aggFn: "count", groupBy: ["Service", "Level"] }],
    granularity: "auto",
    fill: "zero",
    limit: 8,
    wake: "never",
  });
  expect(requestOf({ ...chart, display: "table" }, bounds, "UTC", "never")).toMatchObject({
    granularity: "none",
    fill: "none",
    orderBy: "series_0",
  });
});

test("an aggregate without its field is told before it is asked for", () => {
  expect(missingIn({ ...newChart("s"), series: [newSeries, { ...newSeries, aggFn: "avg" }] })).toBe(
    "Series 2 needs a field for avg.",
  );
  expect(missingIn(newChart("s"))).toBeUndefined();
});

test("equal series have different names", () => {
  expect(seriesNames([newSeries, newSeries, { ...newSeries, aggFn: "quantile", field: "ms", where: "a:b" }])).toEqual([
    "count",
    "count (2)",
    "p95 of ms where a:b",
  ]);
});
