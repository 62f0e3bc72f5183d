import { expect, test } from "vitest";
import { chartColumns, type Result, resultLook, resultSeries } from "./result-series.ts";

const columns = [
  { name: "t", type: "DateTime64(9)" },
  { name: "service", type: "LowCardinality(String)" },
  { name: "n", type: "UInt64" },
];
const rows = [
  ["2024-05-01 10:01:00.000000001", "web", "18446744073709551615"],
  ["2024-05-01 10:00:00", "api", "2"],
];

const result: Result = { columns, rows, rowCount: rows.length };
const dataOf = (shown: Result, look: object) =>
  resultSeries(shown, chartColumns(shown, resultLook(look)), resultLook(look));
const series = (look: object) => dataOf(result, look);

test("times, numbers and groups are found by type", () => {
  const found = { times: [0], allNumbers: [2], groups: [1], time: 0, numbers: [2], group: undefined };
  expect(chartColumns(result, resultLook({ time: "gone", values: ["gone"], group: "gone" }))).toEqual(found);
});

test("rows in any order become series in order of time", () => {
  const times = [Date.UTC(2024, 4, 1, 10), Date.UTC(2024, 4, 1, 10, 1)];
  expect(series({})).toEqual({
    times,
    leftGroups: 0,
    isRepeated: false,
    series: [{ name: "n", measure: 2, values: [2, 18446744073709552000] }],
  });
  expect(series({ group: "service" })?.series).toEqual([
    { name: "web", measure: 2, values: [null, 18446744073709552000] },
    { name: "api", measure: 2, values: [2, null] },
  ]);
});

test("rows of one time are groups of the first text, unless another one is chosen", () => {
  const both = { columns, rows: [...rows, ["2024-05-01 10:00:00", "web", "5"]], rowCount: 3 };
  const drawn = dataOf(both, {});
  expect(drawn?.series.map(({ name, values }) => [name, values])).toEqual([
    ["web", [5, 18446744073709552000]],
    ["api", [2, null]],
  ]);
});

/** Series by name of a result whose first column is the time. */
function drawnOf(names: string, rows: readonly (readonly number[])[], look: object = {}) {
  const columns = names.split(" ").map((name, at) => ({ name, type: at === 0 ? "DateTime" : "UInt16" }));
  const result = {
    columns,
    rows: rows.map(([t, ...rest]) => [`2024-05-01 10:00:0${t}`, ...rest]),
    rowCount: rows.length,
  };
  const data = dataOf(result, look);
  return {
    isRepeated: data?.isRepeated,
    ...Object.fromEntries(data?.series.map((one) => [one.name, one.values]) ?? []),
  };
}

test("integers are groups where no text tells rows of one time apart: those with least values, or the chosen ones", () => {
  const rows = [
    [0, 7, 200],
    [0, 1, 500],
    [1, 8, 200],
    [1, 9, 500],
  ];
  const byStatus = { isRepeated: false, "200": [7, 8], "500": [1, 9] };
  expect(drawnOf("t n status", rows)).toEqual(byStatus);
  expect(drawnOf("t n status", rows, { group: "status", values: ["status"] })).toEqual(byStatus);
  expect(drawnOf("t n status", rows, { values: ["status"] })).toMatchObject({ "7": [200, null] });
  expect(drawnOf("t n status", rows.slice(1, 3))).toEqual({ isRepeated: false, n: [1, 8], status: [500, 200] });
});

test("rows that no group tells apart are not left out without a word", () => {
  const rows = [
    [0, 1],
    [0, 2],
  ];
  expect(drawnOf("t n", rows)).toEqual({ isRepeated: true, n: [2] });
});

test("the groups with the greatest values are drawn, and those that are not are counted", () => {
  const columns = ["t", "city", "n", "m"].map((name, at) => ({ name, type: ["DateTime", "String"][at] ?? "UInt32" }));
  const rows = Array.from({ length: 60 }, (_, at) => ["2024-05-01 10:00:00", `city ${at % 30}`, at, 0]);
  const result = { columns, rows, rowCount: rows.length };
  const drawn = (values: string[]) => dataOf(result, { values });
  expect(drawn(["n"])?.leftGroups).toBe(6);
  const both = drawn([]);
  expect(both?.leftGroups).toBe(18);
  expect(both?.series.map(({ name }) => name)).toEqual(
    Array.from({ length: 12 }, (_, at) => [`city ${at + 18} · n`, `city ${at + 18} · m`]).flat(),
  );
});

test("columns are stacked on each other only where a stack is chosen", () => {
  const columns = ["t", "avg", "max"].map((name, at) => ({ name, type: at === 0 ? "DateTime" : "Float64" }));
  const result = { columns, rows: [["2024-05-01 10:00:00", 1, 2]], rowCount: 1 };
  const measures = (display: string) => dataOf(result, { display })?.series.map(({ measure }) => measure);
  expect([measures("bar"), measures("stacked")]).toEqual([
    [1, 2],
    [0, 0],
  ]);
});

test("groups and columns that read the same are different series, each with all its rows", () => {
  const names = ["t", "city", "n", "n"];
  const columns = names.map((name, at) => ({ name, type: ["DateTime", "Nullable(String)"][at] ?? "UInt32" }));
  const rows = [null, "NULL"].map((city, at) => ["2024-05-01 10:00:00", city, at, at + 5]);
  const data = dataOf({ columns, rows, rowCount: 2 }, {});
  expect(data?.series.map(({ name, values }) => [name, values])).toEqual([
    ["NULL · n", [0]],
    ["NULL · n (2)", [5]],
    ["NULL · n (3)", [1]],
    ["NULL · n (4)", [6]],
  ]);
  expect(data?.isRepeated).toBe(false);
});

test("columns beyond those that can be told apart are drawn when they are chosen", () => {
  const names = Array.from({ length: 30 }, (_, at) => `n${at}`);
  const row = [0, ...names.map((_, at) => at)];
  const count = (values: string[]) =>
    Object.keys(drawnOf(["t", ...names].join(" "), [row], { values })).filter((name) => name.startsWith("n")).length;
  expect([count([]), count(["n29"]), count(names)]).toEqual([24, 1, 30]);
});

test("a look of anything is one that can be drawn", () => {
  const plain = { display: "line", time: "", values: [], group: "" };
  for (const kept of [undefined, null, "x", { display: "pie", values: "n", time: 3, group: [] }])
    expect(resultLook(kept)).toEqual(plain);
  const look = { display: "stacked", time: "t", values: ["n"], group: "service" };
  expect(resultLook(look)).toEqual(look);
});
