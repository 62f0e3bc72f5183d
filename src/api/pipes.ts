/** Ingestion pipes: create and list (A2, A3) and extensions of the contract. */
import { z } from "zod";
import { databaseNameProblem, tableNameProblem } from "../clickhouse/names.ts";
import { type SourceKindKey, sourceKindKeys } from "../sources/contract/descriptions.ts";
import { kindsWith, sourceKinds } from "../sources/contract/registry.ts";
import type { SourceKind } from "../sources/contract/source.ts";
import { deleted } from "./leftovers.ts";
import { changing, operations, plainText, shownName, timestamp, uuid, version } from "./operation.ts";

/** The states of the ClickHouse Cloud API; see `docs/states.md`. */
export const pipeStates = [
  "Unknown",
  "Provisioning",
  "Setup",
  "Snapshot",
  "Running",
  "Degraded",
  "Pausing",
  "Paused",
  "Stopping",
  "Stopped",
  "Modifying",
  "Resync",
  "Completed",
  "Failed",
  "InternalError",
] as const;
export type PipeState = (typeof pipeStates)[number];

/** Bounds of the ClickHouse Cloud API; `null` means "not set". */
export const pipeSettings = z
  .strictObject({
    streaming_max_insert_wait_ms: z.int().min(500).max(60_000).nullish(),
    object_storage_concurrency: z.int().min(1).max(35).nullish(),
    object_storage_polling_interval_ms: z.int().min(100).max(3_600_000).nullish(),
    object_storage_max_insert_bytes: z.int().min(10_485_760).max(53_687_091_200).nullish(),
    object_storage_max_file_count: z.int().min(1).max(10_000).nullish(),
    database_max_threads: z.int().min(0).max(64).nullish(),
    database_max_insert_threads: z.int().min(0).max(16).nullish(),
    database_min_insert_block_size_bytes: z.int().min(0).max(10_737_418_240).nullish(),
    database_max_download_threads: z.int().min(0).max(32).nullish(),
    database_parallel_distributed_insert_select: z.int().min(0).max(2).nullish(),
    object_storage_use_cluster_function: z.boolean().nullish(),
    database_parallel_view_processing: z.boolean().nullish(),
    database_insert_quorum: z
      .boolean()
      .nullish()
      .describe("Wait until most replicas of the destination have each batch. Default: true from three replicas on"),
    database_lenient_values: z
      .boolean()
      .nullish()
      .describe("Load values that do not fit as the engine does, changed, instead of refusing their rows"),
  })
  .meta({ id: "PipeSettings" });
export type PipeSettings = { [K in keyof z.output<typeof pipeSettings>]?: number | boolean };

export const scaling = z
  .strictObject({
    replicas: z.int().min(1).max(40).nullish(),
    concurrency: z.int().min(0).max(34).nullish(),
    replicaCpuMillicores: z.int().min(125).max(2000).nullish(),
    replicaMemoryGb: z.number().min(0.5).max(8).nullish(),
  })
  .meta({ id: "PipeScaling" });

const columnName = z.string().min(1).max(256);
const fieldMapping = z.strictObject({ sourceField: z.string().min(1).max(1024), destinationField: columnName });
const column = z.strictObject({ name: columnName, type: z.string().min(1).max(4096) });

export const tableDefinition = z
  .strictObject({
    engine: z
      .strictObject({
        type: z.enum(["MergeTree", "ReplacingMergeTree", "SummingMergeTree", "Null"]).nullish(),
        versionColumnId: columnName.nullish(),
        columnIds: z.array(columnName).max(1000).nullish(),
      })
      .nullish(),
    sortingKey: z.array(columnName).max(100).nullish(),
    partitionBy: z.string().max(1024).nullish(),
    primaryKey: z.string().max(1024).nullish(),
  })
  .meta({ id: "TableDefinition" });

export const tableIdentifier = nameWithout(tableNameProblem);
export const databaseIdentifier = nameWithout(databaseNameProblem);

function nameWithout(problemOf: (name: string) => string | undefined) {
  return plainText(1, 206).refine((name) => problemOf(name) === undefined, {
    error: ({ input }) => problemOf(String(input)) ?? "",
  });
}

const destination = z.strictObject({
  database: databaseIdentifier.nullish(),
  table: tableIdentifier.nullish(),
  managedTable: z.boolean().nullish(),
  tableDefinition: tableDefinition.nullish(),
  columns: z.array(column).max(10_000).nullish(),
  roles: z.array(plainText(1, 128)).max(100).nullish(),
});

/** A member for each kind of source; clients send null for one that is not set. */
type OfKinds<Form extends "whole" | "part"> = {
  [K in SourceKindKey]: z.ZodOptional<z.ZodNullable<SchemaOf<(typeof sourceKinds)[K], Form>>>;
};
type SchemaOf<Kind extends { readonly request: z.ZodObject }, Form> = Form extends "whole"
  ? Kind["request"]
  : ReturnType<Kind["request"]["partial"]>;

/** One schema for each kind of source; `name` ends those of the schemas. */
export function schemasOfKinds<Form extends "whole" | "part" = "whole">(
  name: "Source" | "Change" | "Connection",
  schemaOf: (kind: SourceKind) => z.ZodObject,
): OfKinds<Form> {
  const schemas = Object.values<SourceKind>(sourceKinds).map((kind) => {
    const id = `${kind.key.charAt(0).toUpperCase()}${kind.key.slice(1)}${name}`;
    return [kind.key, allowingNulls(schemaOf(kind)).meta({ id }).nullish()];
  });
  return Object.fromEntries(schemas);
}

export const source = z.strictObject({
  ...schemasOfKinds("Source", ({ request }) => request),
  validateSamples: z.boolean().nullish(),
});

const name = shownName(255);

export const createPipeBody = z
  .strictObject({
    name,
    source,
    destination,
    fieldMappings: z.array(fieldMapping).max(10_000).nullish(),
    scaling: scaling.nullish(),
    settings: pipeSettings.nullish(),
    startPaused: z
      .boolean()
      .nullish()
      .describe("Creates the pipe `Stopped`: it reads nothing before the command `start`"),
  })
  .meta({ id: "CreatePipe" });

const patchBody = z.strictObject({
  name: name.nullish(),
  source: z
    .strictObject({
      ...schemasOfKinds<"part">("Change", ({ request, listChange }) =>
        request.partial().extend(listChange?.members ?? {}),
      ),
      validateSamples: z.boolean().nullish(),
    })
    .nullish(),
  destination: z.strictObject({ columns: z.array(column).max(10_000) }).nullish(),
  fieldMappings: z.array(fieldMapping).max(10_000).nullish(),
  settings: pipeSettings.nullish(),
});

/** The displayed members of a source: those that were sent, without secrets. */
const shownMembers = z.record(z.string(), z.unknown()).optional();
const shownSource = z.object(
  Object.fromEntries(sourceKindKeys.map((key) => [key, shownMembers])) as Record<SourceKindKey, typeof shownMembers>,
);

export const pipeRecord = z
  .object({
    id: uuid,
    serviceId: uuid,
    name: z.string(),
    state: z.enum(pipeStates),
    scaling,
    source: shownSource,
    destination: destination.omit({ roles: true }),
    fieldMappings: z.array(fieldMapping),
    settings: pipeSettings,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Pipe" });

const pipeTable = z
  .object({
    targetTable: z.string(),
    sourceTable: z.string().describe("With its schema"),
    state: z
      .enum(["Setup", "Snapshot", "Running", "Stopped", "Completed"])
      .describe(
        "Changes of a Stopped table are left out until a resync; a Snapshot is copied while others are followed",
      ),
    rows: z.int().describe("Rows of the source loaded since the pipe was created"),
    lagSeconds: z
      .number()
      .optional()
      .describe("The lag of a table that is followed: that of the stream of changes, which all tables share, if known"),
    reason: z.string().optional().describe("Why the table is Stopped"),
    stoppedAt: timestamp
      .optional()
      .describe("Since when it is Stopped; absent of tables that earlier versions stopped"),
    remedy: z.string().optional().describe("What to do before a Stopped table is copied anew; absent: nothing"),
  })
  .meta({ id: "PipeTable" });

const acceptedPipe = pipeRecord
  .extend({
    warnings: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe("What the destination will not hold as the source does, and members without effect, by path"),
  })
  .meta({ id: "AcceptedPipe" });

export const pipeDetails = pipeRecord
  .extend({
    version,
    lastError: z
      .string()
      .optional()
      .describe("Why the pipe is Degraded or Failed, or what a Completed one has not loaded"),
    needsResync: z
      .object({ tables: z.array(z.string()).optional() })
      .optional()
      .describe(
        "What only the command `resync` mends, as its members: `tables` that are Stopped, or the whole pipe without " +
          "them. Shown of a pipe with several tables that is read alone",
      ),
    needsSecrets: z
      .array(z.string())
      .optional()
      .describe("Members of the source to set again, when their values were sealed with another key"),
    sourceWarning: z
      .string()
      .optional()
      .describe("While no worker runs: what is in danger at the source, or why it could not be looked at"),
    errorTable: z
      .string()
      .describe("Table in the destination database that records refused rows and objects; made when the pipe starts"),
    tables: z
      .array(pipeTable)
      .optional()
      .describe("Each table with its own state, for a pipe with several tables that is read alone"),
    progress: z
      .record(z.string(), z.number())
      .describe(
        "Counters since the pipe was created (fetchedRows = sentRows + refusedRows + skippedRows), and gauges of its " +
          "running workers (bytes, files, lag). acceptedRows counts since the server started. A gauge that is " +
          "not known is absent",
      ),
  })
  .meta({ id: "PipeDetails" });

export const serviceParams = z.object({ organizationId: uuid, serviceId: uuid });
const root = "/v1/organizations/{organizationId}/services/{serviceId}/pipes";
const tag = { tag: "Pipes" } as const;

export const pipeOperations = operations(tag, {
  createPipe: {
    method: "POST",
    path: root,
    summary: "Creates a pipe from a source to a destination table, and starts it unless `startPaused`",
    access: "developer",
    body: createPipeBody,
    result: acceptedPipe,
  },
  listPipes: {
    method: "GET",
    storedOnly: true,
    path: root,
    summary: "Lists the pipes of a service with their counters and last errors",
    access: "read",
    result: z.array(pipeDetails),
  },
  getPipe: {
    method: "GET",
    path: `${root}/{pipeId}`,
    summary: "Gets a pipe with its progress and last error",
    access: "read",
    result: pipeDetails,
  },
  updatePipe: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{pipeId}`,
    summary: "Changes name, credentials, columns, mappings or settings",
    access: "developer",
    body: patchBody,
    result: acceptedPipe,
  },
  deletePipe: {
    method: "DELETE",
    versioned: true,
    path: `${root}/{pipeId}`,
    summary: "Deletes a pipe; its destination table stays",
    access: "developer",
    result: deleted,
  },
  updatePipeState: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{pipeId}/state`,
    summary: "Starts, stops or resyncs a pipe",
    access: "developer",
    body: z.strictObject({
      command: z.enum(["start", "stop", "resync"]),
      rows: z
        .enum(["keep", "truncate"])
        .nullish()
        .describe(
          `What becomes of the rows that are in the table, for resync of other sources than ${kindsWith("resync")}`,
        ),
      tables: z
        .array(z.string().min(1).max(127))
        .min(1)
        .max(10_000)
        .nullish()
        .describe(
          `Only these tables, by sourceTable (public.orders), are copied anew by resync of ${kindsWith("resync")}, while the ` +
            "others are followed. Absent: all",
        ),
      objects: z
        .union([
          z.strictObject({ key: z.string().min(1).max(1024) }),
          z.strictObject({ prefix: z.string().min(1).max(1024) }),
        ])
        .nullish()
        .describe(
          `With rows: keep, for resync of ${kindsWith("objectResync")}: only this object, or those whose keys begin so, of those that ` +
            "the pipe has read, are loaded again in their present version. Rows of earlier loads stay, also of objects that " +
            "are gone. Absent: all",
        ),
    }),
    result: pipeRecord,
  },
  updatePipeScaling: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{pipeId}/scaling`,
    summary: "Changes replicas, concurrency or replica size",
    access: "developer",
    body: changing(scaling),
    result: pipeRecord,
  },
  getPipeSettings: {
    method: "GET",
    storedOnly: true,
    path: `${root}/{pipeId}/settings`,
    summary: "Gets the explicitly set settings of a pipe",
    access: "read",
    result: pipeSettings,
  },
  updatePipeSettings: {
    method: "PUT",
    versioned: true,
    path: `${root}/{pipeId}/settings`,
    summary: "Merges settings: an omitted member keeps its value, null resets a member to its default",
    access: "developer",
    body: changing(pipeSettings),
    result: pipeSettings,
  },
});

/** Clients send null for "not set": every optional member of a kind accepts it, and those of its objects do. */
export function allowingNulls<S extends z.ZodObject>(schema: S): S {
  const shape = Object.entries(schema.shape).map(([key, member]) => {
    if (!(member instanceof z.ZodOptional)) return [key, member];
    const { description } = member;
    let inner = member as z.ZodType;
    while (inner instanceof z.ZodOptional) inner = inner.unwrap() as z.ZodType;
    const nullish = (inner instanceof z.ZodObject ? allowingNulls(inner) : inner).nullish();
    return [key, description === undefined ? nullish : nullish.describe(description)];
  });
  return z.strictObject(Object.fromEntries(shape)) as unknown as S;
}
