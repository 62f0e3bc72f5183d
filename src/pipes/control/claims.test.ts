import { expect, test } from "vitest";
import { fairShare } from "./claims.ts";

test("shares are equal but for one pipe, within the slots of each process, and all pipes run", () => {
  for (const slots of [[1], [3, 3], [0, 5, 2], [Infinity], [Infinity, 2], [Infinity, Infinity, 0], [7, 1, 4, 4]]) {
    for (const pipes of [0, 1, 2, 5, 6, 17]) {
      const share = fairShare(pipes, slots);
      const places = (most: number) => slots.reduce((sum, one) => sum + Math.min(one, most), 0);
      const all = slots.reduce((sum, one) => sum + one, 0);
      expect(places(share), `${pipes} pipes, slots ${slots}`).toBeGreaterThanOrEqual(Math.min(pipes, all));
      // Of the smallest such number.
      if (share > 0) expect(places(share - 1)).toBeLessThan(pipes);
    }
  }
});

test("nobody runs more than the slots allow when there are too few", () => {
  expect(fairShare(100, [3, 8])).toBe(8);
  expect(fairShare(100, [0, 0])).toBe(0);
  expect(fairShare(100, [])).toBe(0);
});
