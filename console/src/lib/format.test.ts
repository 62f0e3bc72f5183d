import { expect, test } from "vitest";
import { durationText } from "./format.ts";

test("a duration has the digits that tell it from its neighbours, and at most two units", () => {
  const texts = [-1, 0.0001, 0.85, 0.9996, 1, 1.04, 1.4, 1.5, 9.94, 9.96, 10.4, 59.6, 840, 7510].map(durationText);
  const short = ["0 s", "1 ms", "850 ms", "1 s", "1 s", "1 s", "1.4 s", "1.5 s", "9.9 s", "10 s"];
  expect(texts).toEqual([...short, "10 s", "1 min", "14 min", "2 h 5 min"]);
});
