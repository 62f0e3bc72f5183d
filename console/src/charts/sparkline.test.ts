import { expect, test } from "vitest";
import { sparkPath } from "./sparkline.tsx";

test("a gap interrupts the line, and a value between two gaps is a point", () => {
  expect(sparkPath([0, 10, null, 5, null, 10], 50, 12)).toBe("M0 11L0 11L10 1M30 6L30 6M50 1L50 1");
  expect(sparkPath([], 50, 12)).toBe("");
});
