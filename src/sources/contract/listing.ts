/** What a source contains, for users who choose what a pipe reads. Each connector fills the members of its kind. */
import { z } from "zod";

const listedColumn = z.object({
  name: z.string(),
  type: z.string().describe("As the source prints it"),
  nullable: z.boolean(),
  destinationType: z.string().describe("Type of the destination column with `allowNullableColumns: true`"),
});

const listedTable = z
  .object({
    schema: z.string(),
    name: z.string(),
    estimatedRows: z.number().optional().describe("As of the last ANALYZE or VACUUM; absent before the first one"),
    bytes: z
      .number()
      .optional()
      .describe("With TOAST and all partitions, without indexes; absent while a table of the page is locked"),
    isPartitioned: z.boolean(),
    isReadable: z.boolean().describe("The user may read the table"),
    primaryKey: z.array(z.string()),
    replicaIdentity: z.enum(["default", "nothing", "full", "index"]),
    publications: z.array(z.string()).describe("Names of the publications that contain the table"),
    columns: z.array(listedColumn),
  })
  .meta({ id: "ListedTable" });

export const sourceListing = z
  .object({
    topics: z
      .array(
        z.object({
          name: z.string(),
          partitions: z.int(),
          messages: z
            .number()
            .optional()
            .describe("Offsets between first and last message; absent while a partition has no leader"),
        }),
      )
      .optional(),
    streams: z
      .array(
        z.object({
          name: z.string(),
          openShards: z.int().optional().describe("Absent when the service does not tell it in time"),
        }),
      )
      .optional(),
    prefixes: z
      .array(
        z.object({
          prefix: z.string(),
          objects: z.int().optional().describe("Objects below the prefix, at most 1000; absent if time was short"),
          bytes: z.number().optional().describe("Size of the counted objects"),
          hasMore: z.boolean().optional().describe("True: there are more objects than were counted"),
        }),
      )
      .optional(),
    objects: z.array(z.object({ key: z.string(), bytes: z.number() })).optional(),
    schemas: z
      .array(z.object({ name: z.string(), tables: z.int() }))
      .optional()
      .describe("All schemas with tables; on the first page"),
    tables: z.array(listedTable).optional(),
    nextCursor: z.string().optional().describe("Names the next page; absent on the last one"),
  })
  .meta({ id: "SourceListing" });

export type SourceListing = z.output<typeof sourceListing>;
/** An entry of one of its lists. */
export type Listed<Member extends keyof SourceListing> = Extract<SourceListing[Member], readonly unknown[]>[number];

export type ListingPage = {
  /** Where to look: a prefix of object keys, or a schema. */
  readonly within: string | undefined;
  readonly cursor: string | undefined;
  /** Maximum number of topics, streams, tables, or prefixes and objects together. */
  readonly limit: number;
};
