import { expect, test } from "vitest";
import { tableSchema } from "../columns/schema.ts";
import { blockCache } from "./block-cache.ts";

const schema = tableSchema("d", "t", [
  { name: "ts", type: "DateTime64(9)" },
  { name: "level", type: "LowCardinality(String)" },
  { name: "n", type: "Nullable(UInt32)" },
  { name: "body", type: "String" },
  { name: "attrs", type: "Map(LowCardinality(String), String)" },
  { name: "price", type: "Decimal(18, 2)" },
]);

test("a query of narrow columns uses the cache for as many rows as fill half of it", () => {
  const rows = (...names: string[]) => blockCache(new Set(names), schema, 2_600).merge_tree_max_rows_to_use_cache;
  expect(rows("ts")).toBe(162);
  expect(rows("ts", "level")).toBe(108);
  expect(rows("n", "ts")).toBe(100);
});

test("a query that reads a column of unknown width does not use it, nor one on an engine without a cache", () => {
  for (const name of ["body", "attrs", "price"]) {
    expect(blockCache(new Set([name, "ts"]), schema, 1e9)).toEqual({});
  }
  expect(blockCache(new Set(["ts"]), schema, 0)).toEqual({});
});
