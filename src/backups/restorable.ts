/** Whether a backup may be restored. */
import { AppError } from "../lib/errors.ts";
import type { Backup } from "../store/backups/backups.ts";

/** Throws an AppError with the reason unless the backup is whole and may be restored. */
export function assertRestorable(backup: Backup, forced: boolean): void {
  if (backup.status !== "done") {
    const why = backup.status === "error" ? `it failed (${backup.error})` : "it is not finished";
    throw new AppError("CONFLICT", `Backup ${backup.id} cannot be restored: ${why}.`);
  }
  if (forced || backup.verification === "passed") return;
  const problems = backup.problems;
  const why =
    backup.verification === "pending"
      ? "it has not been verified yet; wait for its verification"
      : `its verification failed: ${problems.slice(0, 3).join("; ")}`;
  throw new AppError(
    "BACKUP_UNUSABLE",
    `Backup ${backup.id} cannot be restored: ${why}. \`force\` restores what is there.`,
  );
}
