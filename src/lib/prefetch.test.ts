import { expect, test, vi } from "vitest";
import { prefetch } from "./prefetch.ts";

test("items come in order, the producer runs ahead up to the limit, and its failure comes last", async () => {
  let produced = 0;
  async function* numbers() {
    for (let n = 0; n < 5; n += 1) {
      produced += 1;
      yield n;
    }
    throw new Error("broken");
  }
  const seen: number[] = [];
  const consume = async () => {
    for await (const n of prefetch(numbers(), 3)) {
      seen.push(n);
      if (n === 0) {
        await vi.waitFor(() => expect(produced).toBeGreaterThanOrEqual(3), 60_000);
        await new Promise((resolve) => setImmediate(resolve));
        expect(produced).toBeLessThan(5);
      }
    }
  };
  await expect(consume()).rejects.toThrow("broken");
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

test("a consumer that stops early closes the producer", async () => {
  let closed = false;
  async function* endless() {
    try {
      for (let n = 0; ; n += 1) yield n;
    } finally {
      closed = true;
    }
  }
  for await (const n of prefetch(endless(), 2)) if (n === 3) break;
  expect(closed).toBe(true);
});
