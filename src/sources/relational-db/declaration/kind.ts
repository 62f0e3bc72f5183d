/** `source.relationalDb`: tables of a Postgres database, copied and then followed. */

import { z } from "zod";
import { tableNameProblem } from "../../../clickhouse/names.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { SourceObject } from "../../contract/own-objects.ts";
import { ownSqlName } from "../../contract/own-objects.ts";
import type { NetworkContext, SourceKind } from "../../contract/source.ts";
import { relationalDbDescription } from "./description.ts";
import { postgresShapes } from "./durable.ts";
import { mappingChanges } from "./mapping-changes.ts";
import { sourceName, tableMapping } from "./table-mapping.ts";
import { tablesOf } from "./table-progress.ts";

/** Postgres' own clients take a host that begins with `/` or `@` for the directory of a unix socket. */
const host = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^/@\\\s]+$/, { error: "must be a host name or an IP address" });

const request = z.strictObject({
  type: z
    .enum([
      "postgres",
      "supabase",
      "neon",
      "alloydb",
      "planetscale",
      "rdspostgres",
      "aurorapostgres",
      "cloudsqlpostgres",
      "azurepostgres",
      "crunchybridge",
      "tigerdata",
    ])
    .optional(),
  host,
  port: z.int().min(1).max(65_535).optional(),
  database: sourceName,
  authentication: z.enum(["basic", "IAM_ROLE"]).optional(),
  iamRole: z.string().min(1).max(2048).optional(),
  tlsHost: host.optional(),
  caCertificate: z.string().min(1).optional(),
  disableTls: z.boolean().optional(),
  skipCertVerification: z.boolean().optional(),
  credentials: z.strictObject({ username: z.string().min(1), password: z.string().optional() }).optional(),
  settings: z
    .strictObject({
      replicationMode: z.enum(["cdc", "snapshot", "cdc_only"]).optional(),
      syncIntervalSeconds: z.int().min(1).max(86_400).optional(),
      pullBatchSize: z.int().min(1).max(10_000_000).optional(),
      publicationName: sourceName.optional(),
      replicationSlotName: sourceName.optional(),
      allowNullableColumns: z.boolean().optional(),
      initialLoadParallelism: z.int().min(1).max(64).optional(),
      snapshotNumRowsPerPartition: z.int().min(1000).max(1_000_000_000).optional(),
      snapshotNumberOfParallelTables: z.int().min(1).max(64).optional(),
      enableFailoverSlots: z.boolean().optional(),
      deleteOnMerge: z.boolean().optional(),
      slotBudgetBytes: z.int().min(1_048_576).optional(),
      slotBudgetAction: z.enum(["warn", "drop"]).optional(),
    })
    .optional(),
  tableMappings: z.array(tableMapping).min(1, "must name at least one table").max(10_000),
});

export type RelationalDbConfig = z.output<typeof request>;

/** The process that is to read the slot: see `../server/slot-reader.ts`. */
export type SlotReader = {
  readonly pipeId: string;
  /** Grows with every process that runs the pipe. */
  readonly fence: number;
  /** Throws LEASE_LOST when another process runs the pipe. */
  readonly requireHeld: () => Promise<void>;
  /** Why the slot is not free; undefined: it is. */
  readonly warn: (message: string | undefined) => void;
};

/** A source with the way to it: what is needed to connect. */
export type SourceServer = {
  readonly config: RelationalDbConfig;
  /** Where connections may go. */
  readonly network: NetworkContext;
  /** How long the source may say nothing, in ms. */
  readonly idleTimeoutMs?: number;
  /** A pipe that runs has it. */
  readonly reader?: SlotReader;
};

export const relationalDb = {
  ...relationalDbDescription,
  key: "relationalDb",
  durable: postgresShapes,
  request,
  listChange: mappingChanges,
  sentTo: { credentials: ["host", "port"] },
  addresses: { connection: ["host"] },
  rules,
  made,
  given,
  lostSinceBackup: () =>
    "The database's replication slot has moved on since the backup: resync to load the tables again.",
  targets: (config) => (config.tableMappings as JsonObject[]).map((mapping) => String(mapping.targetTable)),
  tables: tablesOf,
  resync: {
    problem: (config) => {
      const { replicationMode } = (config.settings ?? {}) as JsonObject;
      if (replicationMode !== "cdc_only") return undefined;
      return "cannot be copied with replicationMode cdc_only; take them out of tableMappings and add them again to begin with empty tables";
    },
    markOf: (targetTable) => `table:${targetTable}`,
    lostMark: "lost" satisfies keyof typeof postgresShapes.marks,
    again: (mark) => (mark === null ? null : { ...(mark as JsonObject), again: true }),
  },
} satisfies SourceKind;

function made(config: JsonObject, pipeId: string): SourceObject[] {
  const { replicationMode, replicationSlotName, publicationName } = (config.settings ?? {}) as JsonObject;
  if (replicationMode === "snapshot") return [];
  const name = ownSqlName(pipeId);
  return [
    ...(replicationSlotName === undefined ? [{ kind: "slot", name } as const] : []),
    ...(publicationName === undefined ? [{ kind: "publication", name } as const] : []),
  ];
}

function given(config: JsonObject): SourceObject[] {
  const { replicationSlotName } = (config.settings ?? {}) as JsonObject;
  return replicationSlotName === undefined ? [] : [{ kind: "slot", name: String(replicationSlotName) }];
}

function rules(config: JsonObject): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  const targets = new Set<string>();
  for (const [index, mapping] of ((config.tableMappings ?? []) as JsonObject[]).entries()) {
    const target = String(mapping.targetTable);
    const problem = targets.has(target) ? "is used twice" : tableNameProblem(target);
    if (problem !== undefined) issues.push({ path: `tableMappings.${index}.targetTable`, message: problem });
    targets.add(target);
    if (mapping.useCustomSortingKey === true && !(mapping.sortingKeys as string[] | undefined)?.length) {
      issues.push({
        path: `tableMappings.${index}.sortingKeys`,
        message: "are required with useCustomSortingKey: true",
      });
    }
  }
  const settings = (config.settings ?? {}) as JsonObject;
  if (settings.replicationSlotName !== undefined && settings.replicationMode !== "cdc_only") {
    issues.push({ path: "settings.replicationSlotName", message: 'is only valid for "cdc_only" replication mode' });
  }
  if (config.credentials === undefined && config.authentication !== "IAM_ROLE") {
    issues.push({ path: "credentials", message: "are required" });
  }
  return issues;
}
