/** When a service's next scheduled backup is due, and on which base. Pure. */
import type { Backup, BackupConfiguration } from "../store/backups/backups.ts";
import { sameLocation } from "./storage/storage.ts";

export const defaultPeriodHours = 24;
export const defaultRetentionHours = 24;

/** Pauses after failed attempts: doubling, up to an hour. */
const firstRetryMs = 5 * 60_000;
const maxRetryMs = 60 * 60_000;

export type Clock = {
  readonly now: number;
  /** Length of an hour of periods; 3,600,000 except in tests. */
  readonly hourMs: number;
};

/** Time of the next scheduled backup, in ms since 1970. `rows` are all rows of the service, in any order. */
export function nextDueAt(
  rows: readonly Backup[],
  configuration: BackupConfiguration,
  serviceCreatedAt: string,
  clock: Clock,
): number {
  const scheduled = rows
    .filter((row) => row.trigger === "schedule" && row.status !== "deleting")
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  const lastDone = scheduled.find((row) => row.status !== "error");
  const since = Date.parse(lastDone?.startedAt ?? serviceCreatedAt);
  const due =
    configuration.startTime === null
      ? since + (configuration.periodHours ?? defaultPeriodHours) * clock.hourMs
      : nextStart(configuration.startTime, since);
  const failures = lastDone === undefined ? scheduled : scheduled.slice(0, scheduled.indexOf(lastDone));
  const [latest] = failures;
  if (latest === undefined) return due;
  const pause = Math.min(maxRetryMs, firstRetryMs * 2 ** (failures.length - 1)) * (clock.hourMs / 3_600_000);
  return Math.max(due, Date.parse(latest.finishedAt ?? latest.startedAt) + pause);
}

/** The first `HH:MM` UTC after a time. */
function nextStart(startTime: string, after: number): number {
  const [hours = 0, minutes = 0] = startTime.split(":").map(Number);
  const candidate = new Date(after);
  candidate.setUTCHours(hours, minutes, 0, 0);
  if (candidate.getTime() <= after) candidate.setUTCDate(candidate.getUTCDate() + 1);
  return candidate.getTime();
}

/** What is known of a backup before it starts: its location, and whether it is encrypted. */
export type PlannedFacts = Pick<Backup, "location" | "encrypted">;

/**
 * The base of the next backup: the newest one, when it and its chain are whole, have the same location and format, and
 * the chain is not full. Undefined: the next backup is full.
 */
export function chooseBase(
  rows: readonly Backup[],
  current: PlannedFacts & { readonly maxChain: number },
): Backup | undefined {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const [newest] = rows.filter((row) => row.status === "done").sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  let length = 1;
  for (let row = newest; row !== undefined; length += 1) {
    const usable =
      row.status === "done" &&
      row.verification === "passed" &&
      sameLocation(row.location, current.location) &&
      row.encrypted === current.encrypted;
    if (!usable || length >= current.maxChain) return undefined;
    if (row.baseId === null) return newest;
    row = byId.get(row.baseId);
  }
  return undefined;
}

/** `20261121T095200Z-1a2b3c4d`: sorts by the time of the request, and is unique because of its id. */
export function backupName(askedAt: string, id: string): string {
  return `${askedAt.replaceAll(/[-:]|\.\d+/g, "")}-${id.slice(0, 8)}`;
}
