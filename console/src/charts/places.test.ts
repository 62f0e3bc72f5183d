import { expect, test } from "vitest";
import { zoneStore } from "../lib/zone.ts";
import { newestPlace, placeAt, placeText, rightSeries, spanAt } from "./places.ts";

test("a bar lies over all of its bucket, and a line has the nearest value", () => {
  const times = [0, 100, 200];
  const under = (display: "bar" | "line", ms: number) => placeAt({ times, display }, ms);
  expect([5, 50, 95, 105, 299].map((ms) => under("bar", ms))).toEqual([0, 0, 0, 1, 2]);
  expect([5, 49, 51, 149, 151].map((ms) => under("line", ms))).toEqual([0, 0, 1, 1, 2]);
  expect(under("bar", -10)).toBe(0);
  expect(placeAt({ times: [], display: "bar" }, 5)).toBeUndefined();
});

test("a bucket ends where the next one begins, also on days of 23 and 25 hours, and none is wider than the range", () => {
  const hour = 3_600_000;
  const chart = { times: [0, 23 * hour, 48 * hour], from: 5 * hour, to: 50 * hour };
  const spans = chart.times.map((_, at) => spanAt(chart, at));
  expect(spans).toEqual([
    [5 * hour, 23 * hour - 1],
    [23 * hour, 48 * hour - 1],
    [48 * hour, 50 * hour],
  ]);
});

test("a bucket that is not whole says why", () => {
  zoneStore.set("UTC");
  const chart = { times: [0, 1000, 2000], whole: { first: 1, end: 2 } };
  expect([0, 1, 2].map((at) => placeText(chart, at))).toEqual([
    "1970-01-01 00:00:00, cut by the range",
    "1970-01-01 00:00:01",
    "1970-01-01 00:00:02, unfinished",
  ]);
});

test("the values beside each other are those of one time: the newest one of whole buckets with a value", () => {
  const series = [
    { name: "ended", values: [1, 2, null, null] },
    { name: "goes on", values: [null, 5, 6, 7] },
  ];
  expect(newestPlace({ series })).toBe(3);
  expect(newestPlace({ series, whole: { first: 0, end: 3 } })).toBe(2);
  expect(newestPlace({ series, whole: { first: 2, end: 2 } })).toBe(-1);
  expect(newestPlace({ series: [] })).toBe(-1);
});

test("lines of a measure more than 20 times smaller have an axis of their own, and groups of one measure never", () => {
  const chart = (measure: number) => ({
    display: "line" as const,
    hidden: new Set<string>(),
    series: [
      { name: "a", measure: 0, values: [1000, null] },
      { name: "b", measure, values: [49, -3] },
    ],
  });
  expect([...rightSeries(chart(1))]).toEqual([1]);
  expect([...rightSeries(chart(0))]).toEqual([]);
  expect([...rightSeries({ ...chart(1), display: "bar" as never })]).toEqual([]);
  expect([...rightSeries({ ...chart(1), hidden: new Set(["a"]) })]).toEqual([]);
});
