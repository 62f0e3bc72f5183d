/** The statement that creates a pipe's table. */
import { expect, test } from "vitest";
import { managedTableStatements } from "./managed-table.ts";

test("what a caller wrote ends with its line, so a comment in it hides no clause", () => {
  const table = { database: "default", table: "t" };
  const columns = [{ name: "a", type: "UInt64 -- a" }];
  const tableDefinition = { partitionBy: "toString(a) -- b", primaryKey: "a -- c", sortingKey: ["a"] };
  const [statement] = managedTableStatements(table, { table: "t", columns, tableDefinition });
  const lines = statement?.split("\n") ?? [];
  expect(lines.filter((line) => line.includes("--"))).toEqual([
    "`a` UInt64 -- a",
    "PARTITION BY toString(a) -- b",
    "PRIMARY KEY (a -- c",
  ]);
  expect(lines).toContain("ORDER BY (`a`)");
});
