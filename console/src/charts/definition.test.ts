import { expect, test } from "vitest";
import {
  chartDefinition,
  missingIn,
  newChart,
  newSeries,
  requestOf,
  seriesNames,
  splitList,
  stepOf,
} from "./definition.ts";

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
    granularity: "30s",
    fill: "zero",
    limit: 8,
    others: true,
    wake: "never",
  });
  expect(requestOf({ ...chart, display: "table" }, bounds, "UTC", "never")).toMatchObject({
    granularity: "none",
    fill: "none",
    orderBy: "series_0",
  });
});

test("a number is that of all groups, and what cannot be added up has no rest", () => {
  const chart = { ...newChart("s"), groupBy: "Service" };
  expect(requestOf({ ...chart, display: "number" }, bounds, "UTC", "never").series?.[0]?.groupBy).toEqual([]);
  const averages = { ...chart, series: [{ ...newSeries, aggFn: "avg" as const, field: "ms" }] };
  expect(requestOf(averages, bounds, "UTC", "never").others).toBeUndefined();
  expect(requestOf({ ...chart, formula: "series_0 * 2" }, bounds, "UTC", "never").others).toBeUndefined();
});

test("half a year has a bucket per 2 days, and no chart more than 120", () => {
  const day = 86_400_000;
  expect([5 * 60_000, 3_600_000, day, 100 * day, 182 * day, 9000 * day].map(stepOf)).toEqual([
    "auto",
    "30s",
    "15m",
    "1d",
    "2d",
    "30d",
  ]);
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
