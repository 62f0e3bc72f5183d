import { expect, test } from "vitest";
import { type Alert, conditionText, fulfils, sortedAlerts, thresholdTypes } from "./alert.ts";

const alert = (more: object) =>
  ({
    id: "0123456789",
    source: "saved_search",
    threshold: 10,
    thresholdType: "above",
    interval: "5m",
    ...more,
  }) as Alert;

test("those that fire come first, then those that nothing is known of, by name", () => {
  const list = [
    alert({ name: "d", state: "DISABLED" }),
    alert({ name: "c", state: "OK" }),
    alert({ name: "b", state: "ALERT" }),
    alert({ name: "u", state: "INSUFFICIENT_DATA" }),
    alert({ name: "a", state: "ALERT" }),
  ];
  expect(sortedAlerts(list).map(({ name }) => name)).toEqual(["a", "b", "u", "c", "d"]);
});

test.each([
  [{}, "at least 10 rows in 5 min"],
  [{ thresholdType: "below", threshold: 1.5, source: "tile", interval: "1d" }, "a value of less than 1.5 in 1 d"],
  [
    { thresholdType: "not_between", thresholdMax: 20000, groupBy: "Service", numConsecutiveWindows: 3 },
    "outside of 10 to 20,000 rows in 5 min, in any group of Service, 3 windows in a row",
  ],
])("the condition of %j reads: %s", (more, text) => {
  expect(conditionText(alert(more))).toBe(text);
});

test("values at, below, above and between thresholds are judged as the server judges them", () => {
  const values = [9, 10, 15, 20, 21];
  const judged = Object.keys(thresholdTypes).map((type) => [
    type,
    values.filter((value) =>
      fulfils(value, { thresholdType: type as Alert["thresholdType"], threshold: 10, thresholdMax: 20 }),
    ),
  ]);
  expect(Object.fromEntries(judged)).toEqual({
    above: [10, 15, 20, 21],
    above_exclusive: [15, 20, 21],
    below: [9],
    below_or_equal: [9, 10],
    equal: [10],
    not_equal: [9, 15, 20, 21],
    between: [10, 15, 20],
    not_between: [9, 21],
  });
});
