import { expect, test } from "vitest";
import { zoneStore } from "../lib/zone.ts";
import { boundsOf, endText, parseTime, rangeText, widened } from "./time-range.ts";

const now = Date.UTC(2024, 4, 1, 12);
zoneStore.set("UTC");

test("relative times, dates and times with an offset are understood", () => {
  expect(parseTime("now", now)).toBe(now);
  expect(parseTime("now-90m", now)).toBe(now - 5_400_000);
  expect(parseTime("2024-05-01", now)).toBe(Date.UTC(2024, 4, 1));
  expect(parseTime("2024-05-01 10:30", now)).toBe(Date.UTC(2024, 4, 1, 10, 30));
  expect(parseTime("2024-05-01T10:30:15+02:00", now)).toBe(Date.UTC(2024, 4, 1, 8, 30, 15));
  expect(parseTime(endText(now), now)).toBe(now);
});

test("other text is not a time", () => {
  for (const text of ["", "yesterday", "now-", "now-5x", "2024-13-01", "24-05-01"]) {
    expect(parseTime(text, now)).toBeUndefined();
  }
});

test("an empty or backward range has no bounds", () => {
  expect(boundsOf({ from: "now-1h", to: "now" }, now)).toEqual({ from: now - 3_600_000, to: now });
  expect(boundsOf({ from: "now", to: "now-1h" }, now)).toBeUndefined();
  expect(boundsOf({ from: "now", to: "now" }, now)).toBeUndefined();
});

test("a preset has a name", () => {
  expect(rangeText({ from: "now-1h", to: "now" })).toBe("Last hour");
  expect(rangeText({ from: "now-2h", to: "now" })).toBe("Last 2 hours");
  expect(rangeText({ from: "now-2h", to: "now-1h" })).toBe("now-2h to now-1h");
  expect(rangeText({ from: endText(now), to: endText(now + 90_500) })).toBe("2024-05-01 12:00 to 2024-05-01 12:01:30");
});

test("a wider range is twice as long, and does not reach into the future", () => {
  const hour = 3_600_000;
  const fixed = (from: number, to: number) => ({ from: endText(from), to: endText(to) });
  expect(widened({ from: "now-6h", to: "now" }, now)).toEqual({ from: "now-12h", to: "now" });
  expect(widened(fixed(now - 10 * hour, now - 8 * hour), now)).toEqual(fixed(now - 11 * hour, now - 7 * hour));
  expect(widened(fixed(now - 2 * hour, now), now)).toEqual(fixed(now - 4 * hour, now));
  expect(widened({ from: "x", to: "now" }, now)).toBeUndefined();
});
