import { expect, test } from "vitest";
import { moved } from "./movement.ts";

const size = { rows: 100, columns: 5, page: 10 };
const press = (key: string, ctrlKey = false) => ({ key, ctrlKey, metaKey: false });

test("keys move within the grid, the first one into it", () => {
  expect(moved(undefined, press("ArrowDown"), size)).toEqual({ row: 0, column: 0 });
  expect(moved({ row: 99, column: 4 }, press("ArrowDown"), size)).toEqual({ row: 99, column: 4 });
  expect(moved({ row: 5, column: 2 }, press("PageDown"), size)).toEqual({ row: 15, column: 2 });
  expect(moved({ row: 5, column: 2 }, press("Home"), size)).toEqual({ row: 5, column: 0 });
  expect(moved({ row: 5, column: 2 }, press("End", true), size)).toEqual({ row: 99, column: 4 });
});

test("other keys and empty grids move nothing", () => {
  expect(moved({ row: 0, column: 0 }, press("x"), size)).toBeUndefined();
  expect(moved(undefined, press("ArrowDown"), { ...size, rows: 0 })).toBeUndefined();
});
