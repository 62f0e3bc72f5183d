/** What is in a service, also while it sleeps. An extension of the contract. */
import { z } from "zod";
import { operations, timestamp, uuid } from "./operation.ts";

const seen = {
  asOf: timestamp.optional().describe("When this was read from the engine; absent if nothing is known yet"),
  live: z.boolean().describe("True if the running engine was asked; otherwise this was kept, and asOf is its age"),
};

export const tableColumn = z
  .object({
    name: z.string(),
    type: z.string(),
    defaultKind: z.string().describe("`DEFAULT`, `MATERIALIZED`, `ALIAS`, `EPHEMERAL` or empty"),
    defaultExpression: z.string(),
    comment: z.string(),
    codec: z.string(),
    inPrimaryKey: z.boolean(),
    inSortingKey: z.boolean(),
    inPartitionKey: z.boolean(),
    compressedBytes: z.int(),
    uncompressedBytes: z.int(),
  })
  .meta({ id: "TableColumn" });

const summary = {
  database: z.string(),
  name: z.string(),
  engine: z.string(),
  comment: z.string(),
  rows: z.int().optional().describe("Absent if the table's engine does not know"),
  bytes: z.int().optional().describe("Size on disk or in memory"),
};

export const tableSummary = z
  .object({
    ...summary,
    columns: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
  })
  .meta({ id: "TableSummary" });

export const tableRecord = z
  .object({
    ...seen,
    ...summary,
    uncompressedBytes: z.int().optional(),
    parts: z.int().optional(),
    partitionKey: z.string(),
    sortingKey: z.string(),
    primaryKey: z.string(),
    samplingKey: z.string(),
    createStatement: z.string().describe("Without secrets; cut off after 65,536 characters"),
    changedAt: timestamp.describe("Last change of the definition"),
    columns: z.array(tableColumn),
  })
  .meta({ id: "Table" });

const named = z.object({ name: z.string(), description: z.string() });

export const completions = z
  .object({
    version: z.string().describe("Version of the engine; empty if nothing is known yet"),
    keywords: z.array(z.string()),
    functions: z.array(named.extend({ aggregate: z.boolean(), caseInsensitive: z.boolean(), syntax: z.string() })),
    tableFunctions: z.array(named),
    tableEngines: z.array(z.string()),
    dataTypes: z.array(z.string()),
    formats: z.array(z.object({ name: z.string(), input: z.boolean(), output: z.boolean() })),
    settings: z.array(named.extend({ type: z.string(), default: z.string() })),
  })
  .meta({ id: "Completions" });

const service = z.object({ organizationId: uuid, serviceId: uuid });
const root = "/v1/organizations/{organizationId}/services/{serviceId}";
const shared = { tag: "Queries", access: "read", method: "GET" } as const;
const name = z.string().min(1).max(256);

export const tableOperations = operations(shared, {
  listTables: {
    path: `${root}/tables`,
    summary: "Lists databases and tables of a service; neither wakes the service nor keeps it awake",
    query: z.object({
      columns: z.enum(["true", "false"]).default("false").describe("Whether to list names and types of columns"),
    }),
    result: z.object({
      ...seen,
      truncated: z.boolean().describe("True if there are more than 5,000 tables or 50,000 columns"),
      databases: z.array(z.object({ name: z.string(), engine: z.string(), comment: z.string() })),
      tables: z.array(tableSummary),
    }),
  },
  getTable: {
    path: `${root}/tables/{database}/{table}`,
    summary: "Gets a table of a service with columns, keys, size and definition; does not wake the service",
    params: service.extend({ database: name, table: name }),
    result: tableRecord,
  },
  getCompletions: {
    path: `${root}/completions`,
    summary: "Gets keywords, functions, formats, types and settings of the service's engine; does not wake the service",
    result: completions,
  },
});
