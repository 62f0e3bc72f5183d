import { expect, test } from "vitest";
import { withinTime } from "./within-time.ts";

test("results are in the order of the items, with at most so many at a time", async () => {
  let running = 0;
  let most = 0;
  const results = await withinTime([3, 1, 2], { ms: 10_000, concurrency: 2 }, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    running -= 1;
    return item * 10;
  });
  expect(results).toEqual([30, 10, 20]);
  expect(most).toBe(2);
});

test("items whose turn did not come in time have no result, and a failure ends the work", async () => {
  expect(await withinTime([1, 2], { ms: 0, concurrency: 1 }, async (item) => item)).toEqual([undefined, undefined]);
  const begun: number[] = [];
  const failing = withinTime([1, 2, 3], { ms: 10_000, concurrency: 1 }, async (item) => {
    begun.push(item);
    if (item === 2) throw new Error("two");
  });
  await expect(failing).rejects.toThrow("two");
  expect(begun).toEqual([1, 2]);
});
