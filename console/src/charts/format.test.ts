import { expect, test } from "vitest";
import { axisText, valueText } from "./format.ts";

test("axes are short, values are exact", () => {
  expect(axisText(1_234_567, "number")).toBe("1.2M");
  expect(valueText(1_234_567, "number")).toBe("1,234,567");
  expect(axisText(850, "milliseconds")).toBe("850 ms");
  expect(axisText(0.25, "percent")).toBe("25 %");
  expect(axisText(1536, "bytes")).toBe("1.5 KiB");
  expect(valueText(0.1234567, "number")).toBe("0.123");
  expect(valueText(null, "bytes")).toBe("no value");
});
