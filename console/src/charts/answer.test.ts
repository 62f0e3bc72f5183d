import { expect, test } from "vitest";
import { seriesOf } from "./answer.ts";

test("every group and aggregate is a series, and a bucket without a row is a gap", () => {
  const rows = [
    { ts_bucket: 20, group: ["b"], "series_0.data": "18446744073709551615", "series_1.data": null },
    { ts_bucket: 10, group: ["a"], "series_0.data": 1, "series_1.data": 2 },
  ];
  expect(seriesOf(rows, ["count", "max"])).toEqual({
    times: [10, 20],
    series: [
      { name: "b · count", values: [null, 18446744073709552000] },
      { name: "b · max", values: [null, null] },
      { name: "a · count", values: [1, null] },
      { name: "a · max", values: [2, null] },
    ],
  });
});

test("one aggregate is left out of the names, and NULL, empty and the rest are told apart", () => {
  const rows = [
    { ts_bucket: 1, group: [null], "series_0.data": 1 },
    { ts_bucket: 1, group: [""], "series_0.data": 1 },
    { ts_bucket: 1, group: [], others: true, "series_0.data": 1 },
  ];
  expect(seriesOf(rows, ["count"]).series.map(({ name }) => name)).toEqual(["NULL", "(empty)", "all others"]);
});
