/** Backups, restores and their configuration as the API shows them. */
import type { z } from "zod";
import type { backupConfiguration, backupDetails, backupRecord, restoreRecord } from "../../api/backups.ts";
import type { Backup, BackupConfiguration } from "../../store/backups.ts";
import type { Restore } from "../../store/restores.ts";

export type BucketRole = { readonly arn: string; readonly sessionName: string };

export type BackupDefaults = { readonly periodHours: number; readonly retentionHours: number };

export function backupRecordOf(row: Backup, role: BucketRole): z.input<typeof backupRecord> {
  const end = row.finishedAt === null ? Date.now() : Date.parse(row.finishedAt);
  const finished = row.status === "done" || row.status === "error";
  const location = row.location as { kind: string; bucket?: string; prefix?: string };
  const bucket = {
    bucketPath: `s3://${location.bucket}/${location.prefix}services/${row.serviceId}/${row.name}`,
    iamRoleArn: role.arn,
    iamRoleSessionName: role.sessionName,
  };
  return {
    id: row.id,
    serviceId: row.serviceId,
    startedAt: row.startedAt,
    ...(finished && row.finishedAt !== null ? { finishedAt: row.finishedAt } : {}),
    sizeInBytes: row.sizeBytes,
    durationInSeconds: Math.max(0, Math.round((end - Date.parse(row.startedAt)) / 10) / 100),
    backupName: row.name,
    ...(location.kind === "s3" ? { bucket } : {}),
    status: row.status === "done" || row.status === "error" ? row.status : "in_progress",
    type: row.type,
    verification: row.verification,
  };
}

export function backupDetailsOf(row: Backup, role: BucketRole): z.input<typeof backupDetails> {
  return {
    ...backupRecordOf(row, role),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.baseId === null ? {} : { baseBackupId: row.baseId }),
    restoresBytes: row.totalBytes,
    encrypted: row.encrypted,
    trigger: row.trigger,
    ...(row.verifiedAt === null ? {} : { verifiedAt: row.verifiedAt }),
    ...(row.deepVerifiedAt === null ? {} : { deepVerifiedAt: row.deepVerifiedAt }),
    ...(row.checkWanted === null ? {} : { checkRequested: row.checkWanted }),
    problems: [...row.problems],
  };
}

/** A start time means one backup a day. */
export function configurationOf(
  value: BackupConfiguration,
  defaults: BackupDefaults,
): z.input<typeof backupConfiguration> {
  return {
    backupPeriodInHours: value.startTime === null ? (value.periodHours ?? defaults.periodHours) : 24,
    backupRetentionPeriodInHours: value.retentionHours ?? defaults.retentionHours,
    backupStartTime: value.startTime,
  };
}

export function restoreRecordOf(row: Restore): z.input<typeof restoreRecord> {
  const optional = {
    sourceDatabase: row.sourceDatabase,
    sourceTable: row.sourceTable,
    targetDatabase: row.targetDatabase,
    targetTable: row.targetTable,
    error: row.error,
    finishedAt: row.finishedAt,
  };
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null));
  return {
    id: row.id,
    backupId: row.backupId,
    serviceId: row.serviceId,
    scope: row.scope === "rebuild" ? "service" : row.scope,
    ...present,
    status: row.status,
    progress: { doneBytes: row.doneBytes, totalBytes: row.totalBytes },
    notes: [...row.notes],
    createdAt: row.createdAt,
  };
}
