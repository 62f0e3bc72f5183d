import { expect, test } from "vitest";
import { RateCounter } from "./rate-counter.ts";

function setUp(maxKeys?: number) {
  const clock = { now: 0 };
  const counter = new RateCounter({ windowMs: 1_000, ...(maxKeys && { maxKeys }), now: () => clock.now });
  return { clock, counter };
}

test("hits are counted by key, in windows that begin with a hit", () => {
  const { clock, counter } = setUp();
  clock.now = 300;
  expect(counter.hit("a")).toEqual({ hits: 1, leftMs: 1_000 });
  clock.now = 1_299.5;
  expect(counter.hit("a")).toEqual({ hits: 2, leftMs: 0.5 });
  expect(counter.hit("b").hits).toBe(1);
  clock.now = 1_300;
  expect(counter.hit("a")).toEqual({ hits: 1, leftMs: 1_000 });
});

test("of too many keys the one that was hit longest ago is forgotten", () => {
  const { counter } = setUp(2);
  counter.hit("a");
  counter.hit("b");
  counter.hit("a");
  counter.hit("c");
  expect([counter.size, counter.hit("a").hits]).toEqual([2, 3]);
  expect(counter.hit("b").hits).toBe(1);
});
