import { expect, test } from "vitest";
import { fulfils } from "./alert-condition.ts";

test.each([
  ["above", [4, 5, 6], [false, true, true]],
  ["above_exclusive", [5, 6], [false, true]],
  ["below", [4, 5], [true, false]],
  ["below_or_equal", [5, 6], [true, false]],
  ["equal", [5, 6], [true, false]],
  ["not_equal", [5, 6], [false, true]],
  ["between", [4, 5, 8, 9], [false, true, true, false]],
  ["not_between", [4, 5, 8, 9], [true, false, false, true]],
] as const)("%s 5 (to 8) of %j", (thresholdType, values, expected) => {
  expect(values.map((value) => fulfils(value, { threshold: 5, thresholdMax: 8, thresholdType }))).toEqual(expected);
});
