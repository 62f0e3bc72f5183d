import { expect, test } from "vitest";
import { chartDefinition } from "../../charts/definition.ts";
import { type Empty, emptyOf, previewBounds, previewOf } from "./preview.ts";

const condition = { thresholdType: "above", threshold: 5, thresholdMax: undefined } as const;
const sparse = { isGrouped: false, value: undefined };
const preview = (values: (number | null)[], inARow = 1, empty: Empty = sparse) =>
  previewOf([...values.keys()], [{ name: "a", values }], condition, { inARow, empty });

test("a run of windows fires once, and a window that tells nothing does not end it", () => {
  expect(preview([1, 6, 7, 1, 8])).toEqual({ windows: 5, fulfilled: 3, alerts: 2 });
  expect(preview([6, null, 7])).toEqual({ windows: 2, fulfilled: 2, alerts: 1 });
  expect(preview([])).toEqual({ windows: 0, fulfilled: 0, alerts: 0 });
});

test("without rows counts are zero, and groups are not seen: both end a run", () => {
  expect(preview([6, null, 7], 1, { isGrouped: false, value: 0 })).toEqual({ windows: 3, fulfilled: 2, alerts: 2 });
  expect(preview([6, null, 7], 1, { isGrouped: true, value: undefined })).toMatchObject({ windows: 2, alerts: 2 });
});

test("an alert that wants several windows in a row fires at the last of them, and stays while it is told", () => {
  expect(preview([6, 1, 6, 6, 6, 6, 1, 6], 3)).toEqual({ windows: 8, fulfilled: 6, alerts: 1 });
  expect(preview([6, 6, null, 6, null, 6, 6], 2)).toMatchObject({ fulfilled: 5, alerts: 1 });
});

test("one group that fulfils the condition is enough", () => {
  const series = [
    { name: "a", values: [1, 1] },
    { name: "b", values: [null, 9] },
  ];
  const grouped = { inARow: 1, empty: { isGrouped: true, value: undefined } };
  expect(previewOf([0, 1], series, condition, grouped)).toEqual({ windows: 2, fulfilled: 1, alerts: 1 });
});

test("a window without rows is zero for counts and sums of all rows alone", () => {
  const empty = (more: object) => emptyOf(chartDefinition({ sourceId: "s", ...more })).value;
  expect([empty({}), empty({ groupBy: "a" }), empty({ series: [{ aggFn: "sum", field: "x" }] })]).toEqual([
    0,
    undefined,
    0,
  ]);
  expect(empty({ series: [{ aggFn: "count" }, { aggFn: "max", field: "x" }] })).toBeUndefined();
});

test("the range ends with the last whole window, and is longer for long ones", () => {
  const now = Date.UTC(2026, 0, 31, 10, 7, 30);
  const short = previewBounds("5m", now);
  expect([short.days, short.to + 1, short.to + 1 - short.from]).toEqual([1, Date.UTC(2026, 0, 31, 10, 5), 86_400_000]);
  expect([previewBounds("6h", now).days, previewBounds("1d", now).days]).toEqual([7, 30]);
});
