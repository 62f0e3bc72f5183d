/** Backups, restores and their configuration as the API shows them. */
import type { z } from "zod";
import type { backupConfiguration, backupDetails, backupRecord, restoreRecord } from "../../api/backups.ts";
import type { BackupConfiguration, BackupRow } from "../../store/backups.ts";
import type { RestoreRow } from "../../store/restores.ts";

export type BucketRole = { readonly arn: string; readonly sessionName: string };

export type BackupDefaults = { readonly periodHours: number; readonly retentionHours: number };

export function backupRecordOf(row: BackupRow, role: BucketRole): z.input<typeof backupRecord> {
  const end = row.finished_at === null ? Date.now() : Date.parse(row.finished_at);
  const finished = row.status === "done" || row.status === "error";
  const location = JSON.parse(row.location) as { kind: string; bucket?: string; prefix?: string };
  const bucket = {
    bucketPath: `s3://${location.bucket}/${location.prefix}services/${row.service_id}/${row.name}`,
    iamRoleArn: role.arn,
    iamRoleSessionName: role.sessionName,
  };
  return {
    id: row.id,
    serviceId: row.service_id,
    startedAt: row.started_at,
    ...(finished && row.finished_at !== null ? { finishedAt: row.finished_at } : {}),
    sizeInBytes: row.size_bytes,
    durationInSeconds: Math.max(0, Math.round((end - Date.parse(row.started_at)) / 10) / 100),
    backupName: row.name,
    ...(location.kind === "s3" ? { bucket } : {}),
    status: row.status === "done" || row.status === "error" ? row.status : "in_progress",
    type: row.type,
    verification: row.verification,
  };
}

export function backupDetailsOf(row: BackupRow, role: BucketRole): z.input<typeof backupDetails> {
  return {
    ...backupRecordOf(row, role),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.base_id === null ? {} : { baseBackupId: row.base_id }),
    restoresBytes: row.total_bytes,
    encrypted: row.encrypted === 1,
    trigger: row.trigger,
    ...(row.verified_at === null ? {} : { verifiedAt: row.verified_at }),
    ...(row.deep_verified_at === null ? {} : { deepVerifiedAt: row.deep_verified_at }),
    ...(row.check_wanted === null ? {} : { checkRequested: row.check_wanted }),
    problems: JSON.parse(row.problems),
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

export function restoreRecordOf(row: RestoreRow): z.input<typeof restoreRecord> {
  const optional = {
    sourceDatabase: row.source_database,
    sourceTable: row.source_table,
    targetDatabase: row.target_database,
    targetTable: row.target_table,
    error: row.error,
    finishedAt: row.finished_at,
  };
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null));
  return {
    id: row.id,
    backupId: row.backup_id,
    serviceId: row.service_id,
    scope: row.scope === "rebuild" ? "service" : row.scope,
    ...present,
    status: row.status,
    progress: { doneBytes: row.done_bytes, totalBytes: row.total_bytes },
    notes: JSON.parse(row.notes),
    createdAt: row.created_at,
  };
}
