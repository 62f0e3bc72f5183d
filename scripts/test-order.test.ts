import * as fc from "fast-check";
import { expect, test } from "vitest";
import { spread } from "./test-order.ts";

test("the few are spread among the many, from the first place on", () => {
  expect(spread(["A", "B"], ["1", "2", "3", "4", "5", "6"])).toEqual(["A", "1", "2", "B", "3", "4", "5", "6"]);
  expect(spread(["A", "B"], [])).toEqual(["A", "B"]);
  expect(spread([], ["1"])).toEqual(["1"]);
});

test("every file is there once, and both kinds keep their order", () => {
  const file = fc.integer({ min: 0, max: 40 });
  fc.assert(
    fc.property(file, file, (fewCount, manyCount) => {
      const few = Array.from({ length: fewCount }, (_, i) => i);
      const many = Array.from({ length: manyCount }, (_, i) => 1_000 + i);
      const order = spread(few, many);
      expect(order.filter((one) => one < 1_000)).toEqual(few);
      expect(order.filter((one) => one >= 1_000)).toEqual(many);
    }),
  );
});
