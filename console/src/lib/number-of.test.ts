import { expect, test } from "vitest";
import { numberOf } from "./number-of.ts";

test("a number that is typed is sent in its unit, other text as it is, and never null", () => {
  expect([numberOf(" 20 "), numberOf("0.5"), numberOf("2", 24)]).toEqual([20, 0.5, 48]);
  const texts = ["20 GB", "5432x", "Infinity", "NaN", ""];
  expect(texts.map((text) => JSON.parse(JSON.stringify(numberOf(text, 24))))).toEqual(texts);
});
