import { expect, test } from "vitest";
import { type Alert, conditionText, sortedAlerts } from "./alert.ts";

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
