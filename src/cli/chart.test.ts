import { expect, test } from "vitest";
import { chartLines, shortNumber } from "./chart.ts";

const row = (minute: number, value: number | null, ...group: string[]) => ({
  ts_bucket: minute * 60_000,
  group,
  "series_0.data": value,
});
const look = { width: 80, color: false };

test("one series is eight lines with its range and times", () => {
  const lines = chartLines([row(0, 0), row(1, 4), row(2, 8)], look);
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatch(/^8 +█+$/);
  expect(lines[7]).toMatch(/^0 +█+$/);
  expect(lines[8]).toBe("1970-01-01 00:00 to 1970-01-01 00:02 UTC");
});

test("groups are one line each, on one scale, and a gap is a gap", () => {
  const [a, b] = chartLines([row(0, 8, "a"), row(1, 8, "a"), row(0, 4, "b")], look);
  expect(a).toMatch(/^a █{60} 8$/);
  expect(b).toMatch(/^b ▄{30} {30} 4$/);
});

test("time without rows is drawn where the range asks for it", () => {
  const range = { from: 30_000, to: 40 * 60_000, bucketMs: 60_000 };
  const lines = chartLines([row(9, 8), row(10, 8)], look, range);
  expect(lines[7]).toMatch(/^0 {15}█{3}$/);
  expect(lines[8]).toBe("1970-01-01 00:00 to 1970-01-01 00:39 UTC");
});

test("no line is wider than the terminal, and none has an escape of a group's name", () => {
  const rows = Array.from({ length: 500 }, (_, i) => row(i, i, "x\u001b[31m".repeat(20)));
  const other = row(0, 1, "y");
  const lines = chartLines([...rows, other], { width: 60, color: false });
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  expect(lines.join("")).not.toContain("\u001b");
});

test("numbers are short", () => {
  expect([0, 999, 1234, 12_340_000, 0.5].map(shortNumber)).toEqual(["0", "999", "1.23k", "12.3M", "0.50"]);
});
