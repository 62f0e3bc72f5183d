/** Decides which backups to remove. Pure: rows in, decisions out. */
import type { Backup } from "../store/backups/backups.ts";

export type RetentionVerdict = { readonly row: Backup; readonly keep: boolean; readonly reason: string };

/**
 * Decides about all backups of one service. A backup is kept while it is younger than the retention, while it is the
 * newest restorable one of an existing service, or while a kept or a running backup needs it. Removals are ordered so
 * that no remaining backup ever lacks its base.
 */
export function retentionVerdicts(
  rows: readonly Backup[],
  options: { retentionMs: number; serviceExists: boolean; now: number },
): RetentionVerdict[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const reasons = new Map<string, string>();
  const keep = (row: Backup, reason: string) => {
    if (!reasons.has(row.id)) reasons.set(row.id, reason);
    for (let base = baseOf(byId, row); base !== undefined; base = baseOf(byId, base)) {
      if (!reasons.has(base.id)) reasons.set(base.id, `${row.name} needs it`);
    }
  };
  const newestFirst = [...rows].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  if (options.serviceExists) {
    const good = newestFirst.find((row) => row.status === "done" && row.verification !== "failed");
    if (good !== undefined) keep(good, "newest backup that can be restored");
  }
  for (const row of newestFirst) {
    if (row.status === "queued" || row.status === "in_progress") keep(row, "in progress");
    else if (row.status !== "deleting" && age(row, options.now) < options.retentionMs)
      keep(row, "within the retention");
  }
  return newestFirst.map((row) => {
    const reason = row.status === "deleting" ? undefined : reasons.get(row.id);
    return { row, keep: reason !== undefined, reason: reason ?? "older than the retention" };
  });
}

/** Since its end: a slow backup is kept as long as a quick one. */
function age(row: Backup, now: number): number {
  return now - Date.parse(row.finishedAt ?? row.startedAt);
}

function baseOf(byId: ReadonlyMap<string, Backup>, row: Backup): Backup | undefined {
  return row.baseId === null ? undefined : byId.get(row.baseId);
}
