/** Metrics of backups, for an operator's alerts. */
import type { MetricSample } from "../lib/metric-sample.ts";
import type { Backup, BackupStore } from "../store/backups.ts";

/** Per service with backups: damaged backups, recorded failed attempts, bytes, and the time of the newest good one. */
export async function backupSamples(backups: BackupStore): Promise<MetricSample[]> {
  const rows = (await backups.listAll()).filter((row) => row.status !== "deleting");
  return [...Map.groupBy(rows, (row) => row.serviceId)].flatMap(([service, own]) => {
    const labels = { organization: own[0]?.organizationId ?? "", service };
    const done = own.filter((row) => row.status === "done");
    const good = done.filter((row) => row.verification === "passed");
    const sample = (name: string, help: string, value: number) => ({ name, help, labels, value });
    return [
      sample("Backup_Verification_Failed", "Backups whose last check found damage.", damaged(done)),
      sample("Backup_Failed", "Recorded backup attempts that failed.", failures(own)),
      sample(
        "Backup_Stored_Bytes",
        "Bytes stored by all backups.",
        done.reduce((sum, row) => sum + row.sizeBytes, 0),
      ),
      sample(
        "Backup_LastVerified_Timestamp",
        "End of the newest backup that passed its check, seconds since 1970.",
        latest(good),
      ),
    ];
  });
}

function damaged(done: readonly Backup[]): number {
  return done.filter((row) => row.verification === "failed").length;
}

function failures(rows: readonly Backup[]): number {
  return rows.filter((row) => row.status === "error").length;
}

function latest(good: readonly Backup[]): number {
  return Math.max(0, ...good.map((row) => Date.parse(row.finishedAt ?? row.startedAt) / 1000));
}
