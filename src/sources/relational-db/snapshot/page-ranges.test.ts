import { describe, expect, test } from "vitest";
import { groupRanges, rangeCondition, rangesOf } from "./page-ranges.ts";

const cut = (pages: number, step: number, most?: number) => ({
  rows: 0,
  leaves: ["a", "b"].map((name) => ({ schema: "s", name, pages, step, ...(most === undefined ? {} : { most }) })),
});

const shown = (groups: ReturnType<typeof groupRanges>) =>
  groups.map((group) => `${group[0]?.leaf.name} ${group.map(({ index }) => index).join(" ")}`);

describe("ranges", () => {
  test("every page is in one of them, and the last one of a table is open", () => {
    const conditions = rangesOf(cut(25, 10)).map((part) => rangeCondition([part]));
    expect(conditions.slice(0, 3)).toEqual([
      "ctid >= '(0,0)'::tid AND ctid < '(10,0)'::tid",
      "ctid >= '(10,0)'::tid AND ctid < '(20,0)'::tid",
      "ctid >= '(20,0)'::tid",
    ]);
    expect(rangesOf(cut(0, 10)).map((part) => rangeCondition([part]))).toEqual(Array(2).fill("ctid >= '(0,0)'::tid"));
  });

  test("those that are alike are copied together, as an insert takes them, and no table is left to one reader", () => {
    const all = () => true;
    const parts = rangesOf(cut(60, 10, 30));
    expect(shown(groupRanges(parts, 1, all))).toEqual(["a 0 1 2", "a 3 4 5", "b 6 7 8", "b 9 10 11"]);
    expect(shown(groupRanges(parts, 6, all))).toEqual(["a 0 1", "a 2 3", "a 4 5", "b 6 7", "b 8 9", "b 10 11"]);
    expect(groupRanges(parts, 12, all)).toHaveLength(12);
    expect(groupRanges(parts, 64, all)).toHaveLength(12);
    const isDone = new Set([1, 2, 7]);
    expect(shown(groupRanges(parts, 1, (a, b) => isDone.has(a.index) === isDone.has(b.index)))).toEqual([
      ...["a 0", "a 1 2", "a 3 4 5"],
      ...["b 6", "b 7", "b 8 9", "b 10 11"],
    ]);
    expect(groupRanges(rangesOf(cut(60, 10)), 1, all)).toHaveLength(12);
  });

  test("they are spread evenly, so that no small one is left over", () => {
    const sizes = (pages: number, most: number) =>
      groupRanges(rangesOf({ rows: 0, leaves: [{ schema: "s", name: "a", pages, step: 1, most }] }), 1, () => true);
    expect(sizes(31, 6).map((group) => group.length)).toEqual([5, 5, 5, 5, 5, 6]);
    expect(sizes(7, 6).map((group) => group.length)).toEqual([3, 4]);
    expect(
      sizes(31, 6)
        .flat()
        .map(({ index }) => index),
    ).toEqual(Array.from({ length: 31 }, (_, index) => index));
  });

  test("a group is the place from its first range to its last", () => {
    const [a, b] = groupRanges(rangesOf(cut(60, 10, 30)), 1, () => true) as ReturnType<typeof groupRanges>;
    expect(rangeCondition(a as [])).toBe("ctid >= '(0,0)'::tid AND ctid < '(30,0)'::tid");
    expect(rangeCondition(b as [])).toBe("ctid >= '(30,0)'::tid");
  });
});
