/** One table of a Postgres pipe, as its request names it. */
import { z } from "zod";
import type { Stored } from "../../contract/durable.ts";

export const sourceName = z.string().min(1).max(63);

export const tableMapping = z.strictObject({
  sourceSchemaName: sourceName,
  sourceTable: sourceName,
  targetTable: z.string().min(1).max(206),
  excludedColumns: z.array(sourceName).max(1600).optional(),
  useCustomSortingKey: z.boolean().optional(),
  sortingKeys: z.array(sourceName).max(100).optional(),
  tableEngine: z.enum(["MergeTree", "ReplacingMergeTree", "Null"]).optional(),
  partitionByExpr: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .describe("PARTITION BY of the destination table, over columns of its sorting key; with MergeTree over any column"),
});

export type TableMapping = Stored<typeof tableMapping>;
