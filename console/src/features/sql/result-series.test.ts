import { expect, test } from "vitest";
import { chartColumns, resultSeries } from "./result-series.ts";

const columns = [
  { name: "t", type: "DateTime64(9)" },
  { name: "service", type: "LowCardinality(String)" },
  { name: "n", type: "UInt64" },
];
const rows = [
  ["2024-05-01 10:01:00.000000001", "web", "18446744073709551615"],
  ["2024-05-01 10:00:00", "api", "2"],
];

test("times, numbers and groups are found by type", () => {
  expect(chartColumns(columns)).toEqual({ times: [0], numbers: [2], groups: [1] });
});

test("rows in any order become series in order of time", () => {
  const times = [Date.UTC(2024, 4, 1, 10), Date.UTC(2024, 4, 1, 10, 1)];
  expect(resultSeries(columns, rows, 0, [2], undefined)).toEqual({
    times,
    series: [{ name: "n", measure: 2, values: [2, 18446744073709552000] }],
  });
  expect(resultSeries(columns, rows, 0, [2], 1).series).toEqual([
    { name: "web", measure: 2, values: [null, 18446744073709552000] },
    { name: "api", measure: 2, values: [2, null] },
  ]);
});
