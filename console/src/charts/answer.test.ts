import { expect, test } from "vitest";
import { seriesOf, wholeOf } from "./answer.ts";

const meta = {
  ...{ bucketMs: 10, firstBucketPartial: false, lastBucketPartial: false, asOf: new Date(1000).toISOString() },
  ...{ rowsRead: 0, bytesRead: 0, elapsedMs: 1, cache: "miss" as const, rollups: [], warnings: [] },
};

test("every group and aggregate is a series, and a bucket without a row is a gap", () => {
  const data = [
    { ts_bucket: 20, group: ["b"], "series_0.data": "18446744073709551615", "series_1.data": null },
    { ts_bucket: 10, group: ["a"], "series_0.data": 1, "series_1.data": 2 },
  ];
  const members = ["series_0.data", "series_1.data"];
  expect(seriesOf({ data, meta }, ["count", "max"], members, 0)).toEqual({
    times: [10, 20],
    bucketMs: 10,
    whole: { first: 0, end: 2 },
    series: [
      { name: "b · count", measure: 0, values: [null, 18446744073709552000] },
      { name: "b · max", measure: 1, values: [null, null] },
      { name: "a · count", measure: 0, values: [1, null] },
      { name: "a · max", measure: 1, values: [2, null] },
    ],
  });
});

test("the rest is the last series with the number of its groups, and is told apart from NULL and empty", () => {
  const data = [
    { ts_bucket: 1, group: [], others: true, "series_0.data": 5 },
    { ts_bucket: 1, group: [null], "series_0.data": 1 },
    { ts_bucket: 2, group: [""], "series_0.data": 1 },
  ];
  const { series } = seriesOf({ data, meta, otherGroups: 44 }, ["count"], ["series_0.data"], 0);
  expect(series.map(({ name }) => name)).toEqual(["NULL", "(empty)", "other (44)"]);
  expect(series[2]).toMatchObject({ isRest: true, values: [5, 0] });
});

test("groups that read the same are different series, each with all its rows", () => {
  const groups = [[null], ["NULL"], [""], ["(empty)"], ["a, b", "c"], ["a", "b, c"]];
  const data = groups.map((group, at) => ({ ts_bucket: 1, group, "series_0.data": at }));
  const { series } = seriesOf({ data, meta }, ["count"], ["series_0.data"], 0);
  const names = ["NULL", "NULL (2)", "(empty)", "(empty) (2)", "a, b, c", "a, b, c (2)"];
  expect(series.map(({ name, values }) => [name, values])).toEqual(names.map((name, at) => [name, [at]]));
});

test("a bucket that the range cuts, or that was not over when the engine was asked, is not whole", () => {
  const times = [970, 980, 990, 1000];
  expect(wholeOf(times, { ...meta, asOf: new Date(1010).toISOString() })).toEqual({ first: 0, end: 4 });
  expect(wholeOf(times, { ...meta, firstBucketPartial: true })).toEqual({ first: 1, end: 3 });
  expect(wholeOf(times, { ...meta, asOf: new Date(985).toISOString() })).toEqual({ first: 0, end: 1 });
  expect(wholeOf([990], { ...meta, firstBucketPartial: true, lastBucketPartial: true })).toEqual({ first: 1, end: 1 });
});
