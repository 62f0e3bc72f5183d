/** Backups, restores and their configuration as the API shows them. */
import type { z } from "zod";
import {
  type backupConfiguration,
  backupDetails,
  backupRecord,
  type restorePlan,
  restoreRecord,
} from "../../api/backups.ts";
import type { RestorePlan } from "../../backups/plan.ts";
import type { Backup, BackupConfiguration } from "../../store/backups/backups.ts";
import type { Restore } from "../../store/backups/restores.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import { type Shown, viewOf } from "./view-of.ts";

export type BucketRole = { readonly arn: string; readonly sessionName: string };

export type BackupDefaults = { readonly periodHours: number; readonly retentionHours: number };

const recordView = viewOf(backupRecord);
const detailsView = viewOf(backupDetails);
const restoreView = viewOf(restoreRecord);

export function backupRecordOf(backup: Backup, role: BucketRole) {
  return recordView(shownBackup(backup, role));
}

export function backupDetailsOf(backup: Backup, role: BucketRole) {
  const { baseId: baseBackupId, totalBytes: restoresBytes, checkWanted: checkRequested } = backup;
  return detailsView({ ...backup, baseBackupId, restoresBytes, checkRequested, ...shownBackup(backup, role) });
}

function shownBackup(backup: Backup, role: BucketRole): Shown<z.input<typeof backupRecord>> {
  const end = backup.finishedAt === null ? Date.now() : Date.parse(backup.finishedAt);
  const status = endedOr(backup.status);
  const location = backup.location as { kind: string; bucket?: string; prefix?: string };
  const bucket = {
    bucketPath: `s3://${location.bucket}/${location.prefix}services/${backup.serviceId}/${backup.name}`,
    iamRoleArn: role.arn,
    iamRoleSessionName: role.sessionName,
  };
  return {
    ...backup,
    finishedAt: status === "in_progress" ? null : backup.finishedAt,
    sizeInBytes: backup.sizeBytes,
    durationInSeconds: Math.max(0, Math.round((end - Date.parse(backup.startedAt)) / 10) / 100),
    backupName: backup.name,
    bucket: location.kind === "s3" ? bucket : null,
    status,
  };
}

/** What is requested, runs, or is being removed is in progress. */
export function endedOr(status: Backup["status"]) {
  return status === "done" || status === "error" ? status : "in_progress";
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

export function restoreRecordOf(restore: Restore) {
  const { scope, doneBytes, totalBytes } = restore;
  const shownScope = scope === "rebuild" ? "service" : scope;
  return restoreView({ ...restore, scope: shownScope, progress: { doneBytes, totalBytes } });
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
