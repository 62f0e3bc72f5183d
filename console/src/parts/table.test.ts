import { expect, test } from "vitest";
import { sortedBy } from "./table.tsx";

test("rows are sorted by their numbers, and by the numbers in their names", () => {
  const rows = [
    { name: "clicks/10", lag: 2_000_000 },
    { name: "clicks/9", lag: -1.5 },
    { name: "clicks/1", lag: 30 },
  ];
  const names = (key: "name" | "lag", order: "asc" | "desc") =>
    sortedBy(rows, { key, order }, (row) => row[key]).map(({ name }) => name);
  expect(names("lag", "asc")).toEqual(["clicks/9", "clicks/1", "clicks/10"]);
  expect(names("lag", "desc")).toEqual(["clicks/10", "clicks/1", "clicks/9"]);
  expect(names("name", "asc")).toEqual(["clicks/1", "clicks/9", "clicks/10"]);
});
