import { expect, test } from "vitest";
import { ranMinutes } from "./ran-minutes.ts";

test("a service ran no longer than it exists, in the minutes of a day that ends now", () => {
  const first = Date.UTC(2026, 10, 28);
  const now = first + 1_447.5 * 60_000;
  const created = now - 6.75 * 60_000;
  // A part of the first and of the last minute is known, and taken for the whole.
  const shares = Array.from({ length: 1_455 }, (_, minute) => (minute < 1_440 || minute > 1_447 ? null : 1));
  const ran = ranMinutes(shares, { first, created, now });
  expect(ran.reduce((sum, { minutes }) => sum + minutes, 0)).toBeCloseTo(6.75);
  expect(ran).toHaveLength(1_440);
  expect(ran.at(-1)).toEqual({ at: first + 1_447 * 60_000, minutes: 0.5 });
});
