import { expect, test } from "vitest";
import { typedNumber } from "./typed-number.ts";

test("a number that is typed is sent in its unit, other text as it is, and never null", () => {
  expect([typedNumber(" 20 "), typedNumber("0.5"), typedNumber("2", 24)]).toEqual([20, 0.5, 48]);
  const texts = ["20 GB", "5432x", "Infinity", "NaN", ""];
  expect(texts.map((text) => JSON.parse(JSON.stringify(typedNumber(text, 24))))).toEqual(texts);
});
