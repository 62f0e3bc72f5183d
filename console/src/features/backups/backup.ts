/** A backup, what is proven of it, and the chain that it belongs to. */
import type { OperationResult } from "../../api/client.ts";
import type { Pace } from "../../api/refresh.ts";
import { relativeText } from "../../lib/format.ts";
import { timeText } from "../../lib/zone.ts";
import type { Tone } from "../../parts/badge.tsx";

export type Backup = OperationResult<"listBackups">[number];
export type BackupDetails = OperationResult<"getBackup">;
export type Service = OperationResult<"listServices">[number];
export type Restore = OperationResult<"getRestore">;
export type BackupConfiguration = OperationResult<"getBackupConfiguration">;

export type Proof = { readonly tone: Tone; readonly word: string; readonly sentence: string };

/** What is known about the files of a backup, in a word and a sentence. */
export function proofOf({ status, verification }: Pick<Backup, "status" | "verification">): Proof {
  if (status === "in_progress") {
    return { tone: "info", word: "In progress", sentence: "The backup is being made; it proves nothing yet." };
  }
  if (status === "error") {
    return { tone: "bad", word: "Failed", sentence: "The backup failed. Its files were removed." };
  }
  if (verification === "passed") {
    return { tone: "ok", word: "Verified", sentence: "Every file was read back and is what was backed up." };
  }
  if (verification === "failed") {
    return { tone: "bad", word: "Damaged", sentence: "The last check found files that are missing or changed." };
  }
  return { tone: "warn", word: "Not verified", sentence: "The files have not been read back yet." };
}

/** Faster while a backup is made or checked. */
export function paceOf(backups: readonly Pick<Backup, "status" | "verification">[] | undefined): Pace {
  return backups?.some(isChanging) ? "fast" : "live";
}

function isChanging({ status, verification }: Pick<Backup, "status" | "verification">): boolean {
  return status === "in_progress" || (status === "done" && verification === "pending");
}

/**
 * Backups in chains, the newest chain first, each from its full backup on. An incremental backup is based on the one
 * that was done before it. Failed backups belong to no chain.
 */
export function chainsOf<T extends Pick<Backup, "status" | "type" | "startedAt">>(backups: readonly T[]): T[][] {
  const chains: T[][] = [];
  for (const backup of backups.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt))) {
    if (backup.status === "error") continue;
    const newest = chains.at(-1);
    if (backup.type === "full" || newest === undefined) chains.push([backup]);
    else newest.push(backup);
  }
  return chains.toReversed();
}

/** `2026-11-22 14:05` in the zone of the console: how backups are called on the screen. */
export function titleOf({ startedAt }: Pick<Backup, "startedAt">): string {
  return timeText(Date.parse(startedAt)).slice(0, 16);
}

/** `daily at 03:30 UTC, kept for 7 days`. */
export function scheduleText(configuration: BackupConfiguration): string {
  const { backupStartTime, backupPeriodInHours: hours, backupRetentionPeriodInHours } = configuration;
  const days = backupRetentionPeriodInHours / 24;
  const when = backupStartTime === null ? `every ${hours} h` : `daily at ${backupStartTime} UTC`;
  return `${when}, kept for ${days === 1 ? "a day" : `${days} days`}`;
}

/** When the first backup of a service begins, in milliseconds since 1970. */
export function firstBackupAt(createdAt: string, configuration: BackupConfiguration): number {
  const since = Date.parse(createdAt);
  const [hours, minutes] = (configuration.backupStartTime ?? "").split(":").map(Number);
  if (hours === undefined || minutes === undefined) return since + configuration.backupPeriodInHours * 3_600_000;
  const at = new Date(since);
  at.setUTCHours(hours, minutes, 0, 0);
  return at.getTime() <= since ? at.getTime() + 86_400_000 : at.getTime();
}

/** `Millrace makes the first backup in 23 h`. */
export function firstBackupText(createdAt: string, configuration: BackupConfiguration, now: number): string {
  const at = firstBackupAt(createdAt, configuration);
  return at <= now ? "The first backup begins now." : `The first backup begins ${relativeText(at, now)}.`;
}

export type Problem = { readonly file: string | undefined; readonly sentence: string };

/** A problem of a check, apart in the file and what is wrong with it. Other sentences have no file. */
export function problemOf(problem: string): Problem {
  const known = /^(\S*\/\S+) ((?:is|has|was|cannot|does|holds) .*)$/s.exec(problem);
  return known === null ? { file: undefined, sentence: problem } : { file: known[1], sentence: known[2] as string };
}
