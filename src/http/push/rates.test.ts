import { expect, test } from "vitest";
import { PushRates } from "./rates.ts";

test("a key may spend two seconds of its limit at once, and waits for what is more", () => {
  const rates = new PushRates();
  const limits = { rowsPerSecond: 10, bytesPerSecond: 1_000 };
  const wait = (second: number) => rates.waitSeconds("key", limits, second * 1_000);
  expect(wait(0)).toBe(0);
  rates.spend("key", limits, 20, 100, 0);
  expect(wait(0)).toBe(0);
  rates.spend("key", limits, 30, 100, 0);
  expect(wait(0)).toBe(3);
  expect(wait(2)).toBe(1);
  expect(wait(3)).toBe(0);
  rates.spend("key", limits, 0, 10_000, 3_000);
  expect(wait(3)).toBe(8);
  expect(rates.waitSeconds("other", limits, 3_000)).toBe(0);
});

test("a limit that is not set is none", () => {
  const rates = new PushRates();
  rates.spend("key", { rowsPerSecond: 1 }, 1, 1e12, 0);
  expect(rates.waitSeconds("key", { rowsPerSecond: 1 }, 0)).toBe(0);
});
