/** `millrace backup`. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { type BackupObject, findBackup, resolveService } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addWaitFlags, integerFlag, orUndefined, present } from "../flags.ts";
import type { TableColumn } from "../output/table.ts";
import { age, byteSize, span, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import { addRestore } from "./backup-restore.ts";
import { awaitBackup, awaitCheck } from "./backup-wait.ts";

type Shown = BackupObject & { readonly serviceName: string };

const columns: readonly TableColumn<Shown>[] = [
  { title: "SERVICE", value: ({ serviceName }) => serviceName },
  { title: "NAME", value: ({ backupName }) => backupName },
  { title: "TYPE", value: ({ type }) => type },
  { title: "SIZE", value: ({ sizeInBytes }) => byteSize(sizeInBytes), right: true },
  { title: "AGE", value: ({ startedAt }) => age(startedAt), right: true },
  { title: "TOOK", value: ({ durationInSeconds }) => span(durationInSeconds), right: true },
  { title: "STATUS", value: ({ status }) => status, style: ({ status }) => stateStyle(status) },
  { title: "VERIFIED", value: ({ verification }) => verification, style: (row) => stateStyle(row.verification) },
  { title: "ID", value: ({ id }) => id },
];

/** Adds the verbs of `backup`. */
export function addBackup(command: Command, shell: Shell): void {
  command
    .command("list [service]")
    .description("Lists backups, also of deleted services, newest first")
    .action(async (reference?: string) => {
      const client = await shell.client();
      const services = await client.call("listServices", {});
      const only = reference === undefined ? undefined : await resolveService(client, reference);
      const names = new Map(services.map(({ id, name }) => [id, name]));
      const backups = await client.call("listAllBackups", {});
      const shown = backups
        .filter(({ serviceId }) => only === undefined || serviceId === only.id)
        .map((backup) => ({ ...backup, serviceName: names.get(backup.serviceId) ?? `(deleted) ${backup.serviceId}` }));
      await shell.printList(shown, columns, "There is no backup. millrace backup create SERVICE --wait");
    });
  command
    .command("get <backup>")
    .description("Shows a backup with its checks and problems")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: backupId, serviceId } = await findBackup(client, reference);
      await printBackup(shell, await client.call("getBackup", { params: { serviceId, backupId } }));
    });
  addWaitFlags(command.command("create <service>"), "the backup is finished and checked")
    .description("Makes a backup now")
    .action(async (reference: string, flags: WaitFlags) => {
      checkWait(flags);
      const client = await shell.client();
      const { id: serviceId, name } = await resolveService(client, reference);
      const backup = await client.call("createBackup", { params: { serviceId } });
      const last = flags.wait === true ? await awaitBackup(shell, backup, flags) : backup;
      await shell.printDone(last, `${name}: backup ${last.backupName} ${last.status}`);
    });
  addWaitFlags(command.command("verify <backup>"), "the check is finished")
    .description("Reads every file of a backup back and compares it")
    .option("--deep", "Also makes a trial restore")
    .action(async (reference: string, flags: WaitFlags & { deep?: boolean }) => {
      checkWait(flags);
      const client = await shell.client();
      const { id: backupId, serviceId } = await findBackup(client, reference);
      const params = { serviceId, backupId };
      const body = { deep: flags.deep === true };
      const asked = await client.call("verifyBackup", { params, body });
      const last = flags.wait === true ? await awaitCheck(shell, asked, flags) : asked;
      await shell.printDone(last, `${last.backupName}: ${flags.wait === true ? last.verification : "check requested"}`);
    });
  addRestore(command, shell);
  addSchedule(command, shell);
}

async function printBackup(shell: Shell, backup: OperationResult<"getBackup">): Promise<void> {
  await shell.printOne(backup, [
    ["name", backup.backupName, "bold"],
    ["id", backup.id],
    ["status", backup.status, stateStyle(backup.status)],
    ["error", backup.error],
    ["type", backup.type],
    ["based on", backup.baseBackupId],
    ["size", byteSize(backup.sizeInBytes)],
    ["restores", byteSize(backup.restoresBytes)],
    ["started", backup.startedAt],
    ["took", span(backup.durationInSeconds)],
    ["encrypted", backup.encrypted ? "yes" : "no"],
    ["verification", backup.verification, stateStyle(backup.verification)],
    ["files read back", backup.verifiedAt],
    ["trial restore", backup.deepVerifiedAt],
    ["check requested", backup.checkRequested],
    ...backup.problems.map((problem) => ["problem", problem, "red"] as const),
  ]);
}

type ScheduleFlags = { readonly every?: string; readonly at?: string; readonly keep?: string };

function addSchedule(command: Command, shell: Shell): void {
  command
    .command("schedule <service>")
    .description("Shows the schedule of a service, or changes it")
    .option("--every <hours>", "Period: 6, 8, 12, 16, 20, 24, 36 or 48 hours")
    .option("--at <hh:mm>", "One backup per day at this time, in UTC")
    .option("--keep <days>", "Retention in days")
    .action(async (reference: string, flags: ScheduleFlags) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      const body = scheduleBody(flags);
      const found =
        body === undefined
          ? await client.call("getBackupConfiguration", { params: { serviceId } })
          : await client.call("updateBackupConfiguration", { params: { serviceId }, body });
      const every = `every ${found.backupPeriodInHours} h`;
      await shell.printOne(found, [
        ["backup", found.backupStartTime === null ? every : `daily at ${found.backupStartTime} UTC`],
        ["kept for", `${found.backupRetentionPeriodInHours / 24} days`],
      ]);
    });
  command
    .command("retention <service>")
    .description("Previews which backups retention keeps and removes, with reasons")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      await shell.printList(
        await client.call("previewRetention", { params: { serviceId } }),
        [
          { title: "NAME", value: ({ backupName }) => backupName },
          { title: "KEEP", value: ({ keep }) => (keep ? "keep" : "remove") },
          { title: "REASON", value: ({ reason }) => reason },
        ],
        "There is no backup.",
      );
    });
  command
    .command("rescan")
    .description("Adds backups that exist at the backup location but are not known")
    .action(async () => {
      const found = await shell.call("rescanBackups", {});
      const unreadable = found.unreadable.length === 0 ? "" : `; unreadable: ${found.unreadable.join(", ")}`;
      await shell.printDone(found, `${found.adopted} added, ${found.removed} leftovers removed${unreadable}`);
    });
}

function scheduleBody({ every, at, keep }: ScheduleFlags) {
  if (every !== undefined && at !== undefined) throw usageError("--every and --at exclude one another");
  const days = integerFlag("--keep", keep);
  return orUndefined(
    present({
      backupPeriodInHours: integerFlag("--every", every?.replace(/h$/, "")),
      backupStartTime: at ?? (every === undefined ? undefined : null),
      backupRetentionPeriodInHours: days === undefined ? undefined : days * 24,
    }),
  );
}
