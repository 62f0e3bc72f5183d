import { expect, test } from "vitest";
import { shownRows } from "./rows.ts";

const columns = [
  { name: "n", type: "UInt64" },
  { name: "s", type: "String" },
];
const rows = [
  ["9007199254740993", "Beta"],
  ["9007199254740992", "alpha"],
  [null, "beta"],
];

test("rows are sorted by value and filtered by the text of any cell", () => {
  expect(shownRows(columns, rows, "", undefined)).toEqual([0, 1, 2]);
  expect(shownRows(columns, rows, "", { column: 0, descending: false })).toEqual([1, 0, 2]);
  expect(shownRows(columns, rows, "BETA", { column: 0, descending: true })).toEqual([0, 2]);
  expect(shownRows(columns, rows, "0993", undefined)).toEqual([0]);
});
