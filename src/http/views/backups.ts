/** Backups, restores and their configuration as the API shows them. */
import type { z } from "zod";
import type {
  backupConfiguration,
  backupDetails,
  backupRecord,
  restorePlan,
  restoreRecord,
} from "../../api/backups.ts";
import type { RestorePlan } from "../../backups/plan.ts";
import type { Backup, BackupConfiguration } from "../../store/backups/backups.ts";
import type { Restore } from "../../store/backups/restores.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";

export type BucketRole = { readonly arn: string; readonly sessionName: string };

export type BackupDefaults = { readonly periodHours: number; readonly retentionHours: number };

export function backupRecordOf(backup: Backup, role: BucketRole): z.input<typeof backupRecord> {
  const end = backup.finishedAt === null ? Date.now() : Date.parse(backup.finishedAt);
  const finished = backup.status === "done" || backup.status === "error";
  const location = backup.location as { kind: string; bucket?: string; prefix?: string };
  const bucket = {
    bucketPath: `s3://${location.bucket}/${location.prefix}services/${backup.serviceId}/${backup.name}`,
    iamRoleArn: role.arn,
    iamRoleSessionName: role.sessionName,
  };
  return {
    id: backup.id,
    serviceId: backup.serviceId,
    startedAt: backup.startedAt,
    ...(finished && backup.finishedAt !== null ? { finishedAt: backup.finishedAt } : {}),
    sizeInBytes: backup.sizeBytes,
    durationInSeconds: Math.max(0, Math.round((end - Date.parse(backup.startedAt)) / 10) / 100),
    backupName: backup.name,
    ...(location.kind === "s3" ? { bucket } : {}),
    status: backup.status === "done" || backup.status === "error" ? backup.status : "in_progress",
    type: backup.type,
    verification: backup.verification,
  };
}

export function backupDetailsOf(backup: Backup, role: BucketRole): z.input<typeof backupDetails> {
  return {
    ...backupRecordOf(backup, role),
    ...(backup.error === null ? {} : { error: backup.error }),
    ...(backup.baseId === null ? {} : { baseBackupId: backup.baseId }),
    restoresBytes: backup.totalBytes,
    encrypted: backup.encrypted,
    trigger: backup.trigger,
    ...(backup.verifiedAt === null ? {} : { verifiedAt: backup.verifiedAt }),
    ...(backup.deepVerifiedAt === null ? {} : { deepVerifiedAt: backup.deepVerifiedAt }),
    ...(backup.checkWanted === null ? {} : { checkRequested: backup.checkWanted }),
    problems: [...backup.problems],
  };
}

/** A start time implies one backup a day. */
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

export function restoreRecordOf(restore: Restore): z.input<typeof restoreRecord> {
  const optional = {
    sourceDatabase: restore.sourceDatabase,
    sourceTable: restore.sourceTable,
    targetDatabase: restore.targetDatabase,
    targetTable: restore.targetTable,
    error: restore.error,
    finishedAt: restore.finishedAt,
  };
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null));
  return {
    id: restore.id,
    backupId: restore.backupId,
    serviceId: restore.serviceId,
    scope: restore.scope === "rebuild" ? "service" : restore.scope,
    ...present,
    status: restore.status,
    progress: { doneBytes: restore.doneBytes, totalBytes: restore.totalBytes },
    notes: [...restore.notes],
    createdAt: restore.createdAt,
  };
}

/** `unaffected`: the pipes of the receiving service; undefined when the service is to be created. */
export function restorePlanOf(plan: RestorePlan, unaffected: readonly Pipe[] | undefined): z.input<typeof restorePlan> {
  const { pipes, ...rest } = plan;
  const users =
    unaffected === undefined
      ? ({
          effect: "newDefaultUser",
          note: "The new service has a default user with a new password. Users of the backed-up service are not in the backup.",
        } as const)
      : ({ effect: "unaffected", note: "Users and their passwords stay as they are." } as const);
  return {
    ...rest,
    problems: [...rest.problems],
    tables: [...rest.tables],
    pipes: [
      ...(unaffected ?? []).map(({ id, name }) => ({
        name,
        pipeId: id,
        effect: "unaffected" as const,
        note: "The pipe keeps its position: it does not load the restored table.",
      })),
      ...pipes.map(({ name, effect, note }) => ({ name, effect, ...(note === undefined ? {} : { note }) })),
    ],
    users,
  };
}
