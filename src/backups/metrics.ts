/** Metrics of backups, for an operator's alerts. */
import { traitsOf } from "../api/runtimes.ts";
import type { MetricSample } from "../lib/metric-sample.ts";
import type { Backup, BackupStore } from "../store/backups/backups.ts";
import type { Service } from "../store/services/services.ts";

type BackedUp = Pick<Service, "id" | "organizationId" | "runtime">;

/**
 * Per service: damaged backups, recorded failed attempts, bytes, and the time of the newest good one. Services that are
 * backed up here have them also before their first backup, so that one that never comes is noticed.
 */
export async function backupSamples(backups: BackupStore, services: readonly BackedUp[]): Promise<MetricSample[]> {
  const rows = (await backups.listAll()).filter((row) => row.status !== "deleting");
  const organizations = new Map(services.map(({ id, organizationId }) => [id, organizationId]));
  return [...backupsByService(rows, services)].flatMap(([service, own]) => {
    const labels = { organization: own[0]?.organizationId ?? organizations.get(service) ?? "", service };
    const done = own.filter((row) => row.status === "done");
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
        "End of the newest backup that passed its check, seconds since 1970; 0: none.",
        newestGoodAt(own) / 1000,
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

/** With the services that are backed up here before their first backup. */
export function backupsByService(rows: readonly Backup[], services: readonly BackedUp[]): Map<string, Backup[]> {
  const found = Map.groupBy(rows, (row) => row.serviceId);
  const expected = services.filter((service) => !traitsOf(service).makesOwnBackups);
  for (const { id } of expected) if (!found.has(id)) found.set(id, []);
  return found;
}

/** End of the newest backup that passed its check, in ms; 0: there is none. */
export function newestGoodAt(rows: readonly Backup[]): number {
  const good = rows.filter(({ status, verification }) => status === "done" && verification === "passed");
  return Math.max(0, ...good.map((row) => Date.parse(row.finishedAt ?? row.startedAt)));
}
