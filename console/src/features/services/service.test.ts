import { expect, test } from "vitest";
import { pipesText } from "./service.ts";

test("that a service has no pipes is known", () => {
  expect(pipesText({ running: 0, total: 0 })).toBe("0");
  expect(pipesText({ running: 1, total: 2 })).toBe("1 of 2");
});
