/** Backups: the record of the contract (A4), and extensions for making, configuring, checking and restoring them. */
import { z } from "zod";
import { changing, operations, plainText, timestamp, uuid } from "./operation.ts";

export const backupRecord = z
  .object({
    id: uuid,
    serviceId: z.string(),
    startedAt: timestamp,
    finishedAt: timestamp.optional().describe("Absent until the backup is finished"),
    sizeInBytes: z.int().describe("Bytes stored by this backup, without the backups that it is based on"),
    durationInSeconds: z.number().describe("Duration of the backup; while it is in progress, seconds since the start"),
    backupName: z.string(),
    bucket: z
      .object({ bucketPath: z.string(), iamRoleArn: z.string(), iamRoleSessionName: z.string() })
      .optional()
      .describe("Present only for backups in a bucket"),
    status: z.enum(["done", "error", "in_progress"]),
    type: z.enum(["full", "incremental"]),
    verification: z.enum(["pending", "passed", "failed"]),
  })
  .meta({ id: "Backup" });

export const backupDetails = backupRecord
  .extend({
    error: z.string().optional().describe("Reason of the failure"),
    baseBackupId: uuid.optional().describe("The backup that this incremental backup is based on"),
    restoresBytes: z.int().describe("Size in bytes of everything that the backup restores"),
    encrypted: z.boolean(),
    trigger: z.enum(["schedule", "request"]),
    verifiedAt: timestamp.optional().describe("Time of the last check of the files"),
    deepVerifiedAt: timestamp.optional().describe("Time of the last trial restore that found no problem"),
    checkRequested: z.enum(["manifest", "deep"]).optional().describe("A requested check that has not finished"),
    problems: z.array(z.string()).describe("Problems that the last check found, by file"),
  })
  .meta({ id: "BackupDetails" });

export const backupConfiguration = z
  .object({
    backupPeriodInHours: z.int(),
    backupRetentionPeriodInHours: z.int(),
    backupStartTime: z.string().nullable().describe("HH:MM in UTC; when set, one backup per day is made at that time"),
  })
  .meta({ id: "BackupConfiguration" });

const hours = (values: readonly number[]) =>
  z.int().refine((value) => values.includes(value), { error: `must be one of ${values.join(", ")}` });

const configurationBody = changing(
  z.strictObject({
    backupPeriodInHours: hours([6, 8, 12, 16, 20, 24, 36, 48]).nullish(),
    backupRetentionPeriodInHours: z
      .int()
      .refine((value) => value >= 24 && value <= 1080 && value % 24 === 0, {
        error: "must be a multiple of 24 from 24 to 1080",
      })
      .nullish(),
    backupStartTime: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: "must be HH:MM, in UTC" })
      .nullish(),
  }),
).refine((body) => body.backupStartTime == null || body.backupPeriodInHours == null, {
  path: ["backupPeriodInHours"],
  error: "cannot be combined with backupStartTime, which means one backup per day",
});

export const restoreRecord = z
  .object({
    id: uuid,
    backupId: uuid,
    serviceId: uuid.describe("The service that receives the data"),
    scope: z.enum(["service", "database", "table"]),
    sourceDatabase: z.string().optional(),
    sourceTable: z.string().optional(),
    targetDatabase: z.string().optional(),
    targetTable: z.string().optional(),
    status: z.enum(["queued", "in_progress", "done", "error"]),
    progress: z.object({ doneBytes: z.int(), totalBytes: z.int() }).describe("Bytes fetched and restored"),
    error: z.string().optional(),
    notes: z.array(z.string()).describe("Remarks about the result, for example one for each pipe"),
    createdAt: timestamp,
    finishedAt: timestamp.optional(),
  })
  .meta({ id: "Restore" });

const identifier = plainText(1, 206);

export const restoreBody = z
  .strictObject({
    database: identifier.describe("Database in the backup"),
    table: identifier.optional().describe("Table in that database; the whole database when omitted"),
    targetServiceId: uuid.optional().describe("Service that receives the data; the service of the backup when omitted"),
    targetDatabase: identifier.describe(
      "When a database is restored, it must not exist; when a table is restored, it is created if missing",
    ),
    targetTable: identifier
      .optional()
      .describe("Name of the restored table, which must not exist; the name in the backup when omitted"),
    force: z.boolean().optional().describe("Restores also from a backup that is damaged or not verified"),
  })
  .refine((body) => body.table !== undefined || body.targetTable === undefined, {
    path: ["targetTable"],
    error: "requires table",
  })
  .meta({ id: "RestoreRequest" });

const newServiceBody = z.strictObject({
  restorePipes: z
    .enum(["none", "stopped", "running"])
    .optional()
    .describe("As in the request that creates the service"),
  force: z.boolean().optional().describe("Restores also from a backup that is damaged or not verified"),
});

export const restorePlan = z
  .object({
    problems: z.array(z.string()).describe("Why the restore would be refused or fail, as far as that can be known"),
    targetChecked: z
      .boolean()
      .describe("False when the receiving service does not run, so that it is unknown whether the target exists"),
    tables: z.array(
      z.object({
        database: z.string(),
        table: z.string(),
        rows: z.int().nullable(),
        targetDatabase: z.string(),
        targetTable: z.string(),
      }),
    ),
    fetchedBytes: z.int().describe("Bytes read from the location of the backup"),
    restoredBytes: z.int().describe("Bytes of everything that the backup restores"),
    pipes: z.array(
      z.object({
        name: z.string(),
        pipeId: uuid.optional().describe("The pipe of the receiving service; absent for one that would be recreated"),
        effect: z.enum(["unaffected", "recreatedRunning", "recreatedStopped", "omitted"]),
        note: z.string().optional().describe("The remark that the restore makes about the pipe"),
      }),
    ),
    users: z.object({
      effect: z.enum(["unaffected", "newDefaultUser"]),
      note: z.string(),
    }),
  })
  .meta({ id: "RestorePlan" });

const retentionEntry = z
  .object({
    backupId: uuid,
    backupName: z.string(),
    keep: z.boolean(),
    reason: z.string(),
  })
  .meta({ id: "RetentionEntry" });

const serviceRoot = "/v1/organizations/{organizationId}/services/{serviceId}";
const root = `${serviceRoot}/backups`;
const tag = { tag: "Backups" } as const;

export const backupOperations = operations(tag, {
  listBackups: {
    method: "GET",
    path: root,
    summary: "Lists the backups of a service, newest first",
    access: "read",
    result: z.array(backupRecord),
  },
  createBackup: {
    method: "POST",
    path: root,
    summary: "Starts a backup now; 409 while another one is queued or in progress",
    access: "developer",
    result: backupRecord,
  },
  getBackup: {
    method: "GET",
    path: `${root}/{backupId}`,
    summary: "Gets a backup with its chain, problems and checks",
    access: "read",
    result: backupDetails,
  },
  verifyBackup: {
    method: "POST",
    path: `${root}/{backupId}/verify`,
    summary: "Schedules a check of a backup: reads every file, and with `deep` also makes a trial restore",
    access: "developer",
    body: z.strictObject({ deep: z.boolean().optional() }),
    result: backupDetails,
  },
  restoreBackup: {
    method: "POST",
    path: `${root}/{backupId}/restore`,
    summary: "Restores one database or table under another name; a whole service is restored by creating one",
    access: "admin",
    body: restoreBody,
    result: restoreRecord,
  },
  planRestore: {
    method: "POST",
    path: `${root}/{backupId}/restorePlan`,
    readsOnly: true,
    summary:
      "Says what a restore would do to tables, pipes and users; changes nothing. Without a database: into a new service",
    access: "developer",
    body: z.union([restoreBody, newServiceBody]),
    result: restorePlan,
  },
  listRestores: {
    method: "GET",
    storedOnly: true,
    path: `${serviceRoot}/restores`,
    summary: "Lists the restores into a service, newest first",
    access: "read",
    result: z.array(restoreRecord),
  },
  getRestore: {
    method: "GET",
    storedOnly: true,
    path: `${serviceRoot}/restores/{restoreId}`,
    summary: "Gets a restore with its progress",
    access: "read",
    result: restoreRecord,
  },
  getBackupConfiguration: {
    method: "GET",
    storedOnly: true,
    path: `${serviceRoot}/backupConfiguration`,
    summary: "Gets the backup schedule of a service",
    access: "read",
    result: backupConfiguration,
  },
  updateBackupConfiguration: {
    method: "PATCH",
    path: `${serviceRoot}/backupConfiguration`,
    summary: "Changes the backup schedule; null resets a member to its default",
    access: "admin",
    body: configurationBody,
    result: backupConfiguration,
  },
  previewRetention: {
    method: "GET",
    path: `${serviceRoot}/backupRetention`,
    summary: "Previews retention: lists which backups it would keep or remove now, with reasons",
    access: "read",
    result: z.array(retentionEntry),
  },
  listAllBackups: {
    method: "GET",
    path: "/v1/organizations/{organizationId}/backups",
    summary: "Lists all backups of the organization, including those of deleted services, newest first",
    access: "read",
    result: z.array(backupRecord),
  },
  rescanBackups: {
    method: "POST",
    path: "/v1/organizations/{organizationId}/backups/rescan",
    summary:
      "Adds backups of the organization that exist at the backup location but not in the catalogue; removes leftovers of interrupted runs that are older than a day",
    access: "admin",
    result: z.object({ adopted: z.int(), removed: z.int(), unreadable: z.array(z.string()) }),
  },
});
