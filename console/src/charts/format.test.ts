import { expect, test } from "vitest";
import { axisText, valueText } from "./format.ts";
import type { Unit } from "./types.ts";

test("axes are short, values are exact", () => {
  expect(axisText(1_234_567, "number")).toBe("1.23M");
  expect(valueText(1_234_567, "number")).toBe("1,234,567");
  expect(axisText(850, "milliseconds")).toBe("850 ms");
  expect(axisText(0.25, "percent")).toBe("25 %");
  expect(axisText(1536, "bytes")).toBe("1.5 KiB");
  expect(valueText(null, "bytes")).toBe("no value");
});

test("a small value is not 0, and a great one keeps three digits after the point", () => {
  const texts = [0, 1, -0.0002, 0.00012345, 0.1234567, 12.34567, 1234.5678].map((value) => valueText(value, "number"));
  expect(texts).toEqual(["0", "1", "-0.0002", "0.0001235", "0.1235", "12.346", "1,234.568"]);
});

test("a value beyond 2^53 does not pretend to have all its digits", () => {
  const texts = [Number("9007199254740991"), Number("9007199254740993"), Number("-18446744073709551615")];
  expect(texts.map((value) => valueText(value, "number"))).toEqual([
    "9,007,199,254,740,991",
    "≈ 9,007,199,254,740,990",
    "≈ -18,446,744,073,709,600,000",
  ]);
});

test("ticks of an axis at equal distances have texts at equal distances", () => {
  const ticks = (step: number, unit: Unit = "number") => [4, 5, 6, 7].map((at) => axisText(at * step, unit));
  expect(ticks(250)).toEqual(["1K", "1.25K", "1.5K", "1.75K"]);
  expect(ticks(256, "bytes")).toEqual(["1 KiB", "1.25 KiB", "1.5 KiB", "1.75 KiB"]);
  expect(axisText(9 * 128, "bytesPerSecond")).toBe("1.125 KiB/s");
  expect([0, -64, 2 ** 72].map((value) => axisText(value, "bytes"))).toEqual(["0 B", "-64 B", "4194304 PiB"]);
  expect(valueText(1280, "bytes")).toBe("1.3 KiB");
  expect(ticks(250_000)).toEqual(["1M", "1.25M", "1.5M", "1.75M"]);
  expect(ticks(0.25)).toEqual(["1", "1.25", "1.5", "1.75"]);
});
