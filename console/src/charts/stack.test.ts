import { expect, test } from "vitest";
import { barBases, barShare, stackEdges } from "./stack.ts";

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

test("only values of one measure that add up are put on each other", () => {
  const mixed = [
    { name: "count of web", measure: 0, values: [1, 2] },
    { name: "count of api", measure: 0, values: [3, null] },
    { name: "bytes", measure: 1, values: [4, null] },
    { name: "average", measure: 1, isAlone: true, values: [5, 6] },
    { name: "greatest", measure: 1, isAlone: true, values: [7, 8] },
  ];
  expect(stackEdges(mixed, () => true)).toEqual([
    [1, 2],
    [4, 2],
    [4, null],
    [5, 6],
    [7, 8],
  ]);
});

test("a bar covers no shorter one of its time, whichever is drawn first", () => {
  const drawnBefore = [
    [5, 1, null, -1],
    [7, 3, 9, 2],
  ];
  expect(barBases(drawnBefore, [6, 4, 9, -2])).toEqual([5, 3, 0, -1]);
  expect(barBases([], [6, null])).toEqual([0, 0]);
});

test("of bars that overlap the front one is narrower, so that equal values are seen, and a single one takes its bucket", () => {
  const stacks = [[0, 1], [2], [3]];
  const shares = [0, 1, 2, 3].map((index) => barShare(stacks, index));
  expect(shares[0]).toBe(shares[1]);
  expect(shares.slice(1)).toEqual(shares.slice(1).toSorted((a, b) => a - b));
  expect(new Set(shares).size).toBe(3);
  expect(barShare([[0, 1]], 1)).toBe(0.86);
});
