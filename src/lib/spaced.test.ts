import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { spaced } from "./spaced.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first call acts at once, and a burst after it once more, when the pause is over", () => {
  const work = vi.fn();
  const call = spaced(work, 100);
  call();
  expect(work).toHaveBeenCalledTimes(1);
  for (let at = 0; at < 50; at += 1) call();
  vi.advanceTimersByTime(99);
  expect(work).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  expect(work).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1_000);
  expect(work).toHaveBeenCalledTimes(2);
  call();
  expect(work).toHaveBeenCalledTimes(3);
});

test("calls without an end act once in each pause", () => {
  const work = vi.fn();
  const call = spaced(work, 100);
  for (let ms = 0; ms < 1_000; ms += 1) {
    call();
    vi.advanceTimersByTime(1);
  }
  expect(work).toHaveBeenCalledTimes(11);
});
