import { expect, test } from "vitest";
import { stackEdges } from "./stack.ts";

const series = [
  { name: "a", values: [1, null, null] },
  { name: "b", values: [2, 3, null] },
  { name: "c", values: [4, 5, null] },
];

test("each edge is the sum of its series and of those below, and a gap of all stays a gap", () => {
  expect(stackEdges(series, () => true)).toEqual([
    [1, 0, null],
    [3, 3, null],
    [7, 8, null],
  ]);
});

test("a hidden series adds nothing", () => {
  expect(stackEdges(series, (index) => index !== 1)).toEqual([
    [1, 0, null],
    [null, null, null],
    [5, 5, null],
  ]);
});
