import { expect, test } from "vitest";
import { BusyTimeout } from "./pace.ts";

const pace = { adapts: true, minMs: 50, maxMs: 200, increase: 0.2, decrease: 0.2 };

test("the time grows up to the maximum while inserts follow each other, and shrinks when they do not", () => {
  const timeout = new BusyTimeout(pace);
  expect(timeout.next(0)).toBe(50);
  timeout.flushed(50);
  timeout.flushed(100);
  const grown = Array.from({ length: 20 }, (_, at) => timeout.next(101 + at));
  expect(grown.slice(0, 2)).toEqual([50, 60]);
  expect(grown.at(-1)).toBe(200);
  timeout.flushed(300);
  expect(timeout.next(310)).toBeLessThan(200);
});

test("an insert that comes alone does not wait", () => {
  const timeout = new BusyTimeout(pace);
  for (const at of [0, 1_000]) {
    expect(timeout.next(at)).toBe(50);
    timeout.flushed(at + 50);
  }
  expect(timeout.next(2_000)).toBe(0);
});

test("without adapting it is always the longest time", () => {
  const timeout = new BusyTimeout({ ...pace, adapts: false });
  expect([timeout.next(0), timeout.next(10_000)]).toEqual([200, 200]);
});
