/** Waiting for backups, checks and restores. */
import type { OperationResult } from "../client/client.ts";
import { advance } from "../output/progress.ts";
import { byteSize, span } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { type WaitFlags, waitFor } from "../wait.ts";

type Backup = OperationResult<"getBackup">;
type Identity = Pick<Backup, "id" | "serviceId" | "backupName">;

/** Waits until the backup is stored and its files are read back. */
export async function awaitBackup(shell: Shell, backup: Identity, flags: WaitFlags): Promise<Backup> {
  return await awaitOne(shell, backup, flags, "the backup goes on", ({ status, verification }) => {
    if (status === "error" || verification === "failed") return "failed";
    return status === "done" && verification === "passed" ? "done" : "pending";
  });
}

/** Waits until a requested check is finished. */
export async function awaitCheck(shell: Shell, backup: Identity, flags: WaitFlags): Promise<Backup> {
  return await awaitOne(shell, backup, flags, "the check goes on", ({ checkRequested, verification }) => {
    if (checkRequested !== undefined || verification === "pending") return "pending";
    return verification === "failed" ? "failed" : "done";
  });
}

async function awaitOne(
  shell: Shell,
  { id: backupId, serviceId, backupName }: Identity,
  flags: WaitFlags,
  goesOn: string,
  verdict: (backup: Backup) => "done" | "failed" | "pending",
): Promise<Backup> {
  const stateOf = ({ status, verification }: Backup) => (status === "done" ? `verification ${verification}` : status);
  return await waitFor(shell, flags, {
    what: `backup ${backupName}`,
    poll: () => shell.call("getBackup", { params: { serviceId, backupId } }),
    verdict,
    line: (now, { elapsedMs }) =>
      `${backupName}: ${stateOf(now)}, ${byteSize(now.sizeInBytes)} ${span(elapsedMs / 1000)}`,
    key: stateOf,
    reason: ({ error, problems }) => error ?? (problems.length === 0 ? undefined : problems.join("; ")),
    goesOn,
  });
}

export type RestoreObject = OperationResult<"getRestore">;

/** Waits until the restore is finished. */
export async function awaitRestore(shell: Shell, restore: RestoreObject, flags: WaitFlags): Promise<RestoreObject> {
  const params = { serviceId: restore.serviceId, restoreId: restore.id };
  return await waitFor(shell, flags, {
    what: "the restore",
    poll: () => shell.call("getRestore", { params }),
    verdict: ({ status }) => (status === "done" ? "done" : status === "error" ? "failed" : "pending"),
    line: ({ status, progress: { doneBytes, totalBytes } }, at) =>
      `restore: ${status} ${advance(doneBytes, totalBytes || undefined, at, byteSize)}`,
    key: ({ status }) => status,
    reason: ({ error }) => error,
    goesOn: "the restore goes on",
  });
}
