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
  const rows = (sql: string) => blockCache(sql, schema, 2_600).merge_tree_max_rows_to_use_cache;
  expect(rows("SELECT count() WHERE `ts` > 1")).toBe(162);
  expect(rows("SELECT count() WHERE `ts` > 1 AND `level` = 'x'")).toBe(108);
  expect(rows("SELECT sum(`n`) WHERE `ts` > 1")).toBe(100);
});

test("a query that reads a column of unknown width does not use it, nor one on an engine without a cache", () => {
  for (const name of ["body", "attrs", "price"]) {
    expect(blockCache(`SELECT \`${name}\`, \`ts\``, schema, 1e9)).toEqual({});
  }
  expect(blockCache("SELECT `ts`", schema, 0)).toEqual({});
});
