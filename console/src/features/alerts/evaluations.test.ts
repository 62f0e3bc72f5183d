import { expect, test } from "vitest";
import type { Alert, Evaluation } from "./alert.ts";
import { readingName, readingsChart, stateChanges } from "./evaluations.ts";

const alert = { source: "saved_search", threshold: 5, thresholdType: "above" } as Alert;
const minute = (number: number) => new Date(number * 60_000).toISOString();
const evaluation = (number: number, state: string, ...values: [unknown[], number][]) =>
  ({
    ...{
      windowStart: minute(number - 1),
      windowEnd: minute(number),
      evaluatedAt: minute(number),
      state,
      message: null,
    },
    readings: values.map(([group, value]) => ({ group, series: 0, value, fires: value >= 5 })),
  }) as Evaluation;

test("values are lines over the ends of windows, oldest first, with the threshold beside them", () => {
  const newestFirst = [evaluation(3, "OK", [["api"], 1]), evaluation(2, "ALERT", [["web"], 9], [["api"], 2])];
  expect(readingsChart(newestFirst, alert, ["rows"])).toEqual({
    times: [120_000, 180_000],
    series: [
      { name: "api", values: [2, 1] },
      { name: "web", values: [9, null] },
      { name: "threshold", values: [5, 5] },
    ],
  });
  const range = { ...alert, thresholdType: "between", thresholdMax: 7 } as Alert;
  expect(readingsChart([evaluation(1, "OK", [[], 3])], range, ["rows"]).series).toEqual([
    { name: "rows", values: [3] },
    { name: "lower threshold", values: [5] },
    { name: "upper threshold", values: [7] },
  ]);
});

test("of many groups those that are seen most often are drawn", () => {
  const often = Array.from({ length: 7 }, (_, at) => [[`often ${at}`], 1] as [unknown[], number]);
  const chart = readingsChart([evaluation(2, "OK", ...often), evaluation(1, "OK", [["once"], 9], ...often)], alert, [
    "rows",
  ]);
  expect(chart.series.map(({ name }) => name)).toEqual([...often.map(([[name]]) => name), "threshold"]);
});

test("a value is named by its group and, beside others, by its series", () => {
  const reading = { group: ["web", 1], series: 1, value: 3, fires: false };
  expect(readingName(reading, ["p50", "p95"])).toBe("web, 1 · p95");
  expect(readingName({ ...reading, series: 0 }, ["p50"])).toBe("web, 1");
  expect(readingName({ ...reading, group: [] }, ["p50", "p95"])).toBe("p95");
  expect(readingName({ ...reading, group: [] }, [])).toBe("series 2");
});

test("changes of the state are the evaluations that differ from the one before", () => {
  const newestFirst = ["OK", "ALERT", "ALERT", "INSUFFICIENT_DATA"].map((state, at) => evaluation(9 - at, state));
  const texts = (isWhole: boolean) => stateChanges(newestFirst, isWhole).map(({ before, state }) => [before, state]);
  const known = [
    ["ALERT", "OK"],
    ["INSUFFICIENT_DATA", "ALERT"],
  ];
  expect(texts(false)).toEqual(known);
  expect(texts(true)).toEqual([...known, [undefined, "INSUFFICIENT_DATA"]]);
});
