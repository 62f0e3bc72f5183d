import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pause, untilTick } from "./ticks.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

test("all that wait for one interval continue together, the later ones sooner", async () => {
  const seen: string[] = [];
  const wait = (name: string, everyMs: number) => untilTick(everyMs, never).then(() => seen.push(name));
  const first = wait("first", 1_000);
  await vi.advanceTimersByTimeAsync(900);
  const [second, other] = [wait("second", 1_000), wait("other interval", 2_000)];
  await vi.advanceTimersByTimeAsync(99);
  expect(seen).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toEqual(["first", "second"]);
  await Promise.all([first, second]);
  const third = wait("third", 1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(seen.at(-1)).toBe("second");
  await vi.advanceTimersByTimeAsync(1_001);
  expect(seen.slice(2)).toEqual(["third", "other interval"]);
  await Promise.all([third, other]);
});

test("an aborted wait ends at once, and the others go on", async () => {
  const stop = new AbortController();
  let others = 0;
  const aborted = untilTick(1_000, stop.signal);
  const other = untilTick(1_000, never).then(() => (others += 1));
  stop.abort();
  await aborted;
  await untilTick(1_000, stop.signal);
  expect(others).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  await other;
});

describe("pauses", () => {
  test("that end within a second of each other end together, none of them late", async () => {
    await vi.advanceTimersByTimeAsync(123);
    const ends: number[] = [];
    const begins: number[] = [];
    const begun = performance.now();
    for (let i = 0; i < 10; i += 1) {
      begins.push(performance.now() - begun);
      void pause(30_000, never).then(() => ends.push(performance.now() - begun));
      await vi.advanceTimersByTimeAsync(300);
    }
    await vi.advanceTimersByTimeAsync(30_000);
    expect(ends.length).toBe(10);
    expect(new Set(ends).size).toBeLessThanOrEqual(4);
    for (const [i, end] of ends.entries()) {
      const took = end - (begins[i] as number);
      expect(took).toBeLessThanOrEqual(30_000);
      expect(took).toBeGreaterThan(29_000 - 1);
    }
  });

  test("of a few milliseconds are as long as they are asked for", async () => {
    let isOver = false;
    void pause(10, never).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(8);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(2);
    expect(isOver).toBe(true);
  });

  test("leave no timer behind when all of them are aborted", async () => {
    const stop = new AbortController();
    const waits = [pause(30_000, stop.signal), untilTick(5_000, stop.signal)];
    stop.abort();
    await Promise.all(waits);
    expect(vi.getTimerCount()).toBe(0);
  });
});
