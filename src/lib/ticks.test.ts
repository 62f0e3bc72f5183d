import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { untilTick } from "./ticks.ts";

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
