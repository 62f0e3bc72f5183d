/** When a service's next scheduled backup is due, and upon which base. Pure. */
import type { BackupConfiguration, BackupRow } from "../store/backups.ts";

export const defaultPeriodHours = 24;
export const defaultRetentionHours = 24;

/** Pauses after failed attempts: doubling, up to an hour. */
const firstRetryMs = 5 * 60_000;
const maxRetryMs = 60 * 60_000;

export type Clock = {
  readonly now: number;
  /** Length of an hour of periods; 3,600,000 but in tests. */
  readonly hourMs: number;
};

/** Time of the next scheduled backup, in ms since 1970. `rows` are all of the service; order does not matter. */
export function nextDueAt(
  rows: readonly BackupRow[],
  configuration: BackupConfiguration,
  serviceCreatedAt: string,
  clock: Clock,
): number {
  const scheduled = rows
    .filter((row) => row.trigger === "schedule" && row.status !== "deleting")
    .sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
  const lastDone = scheduled.find((row) => row.status !== "error");
  const since = Date.parse(lastDone?.started_at ?? serviceCreatedAt);
  const due =
    configuration.startTime === null
      ? since + (configuration.periodHours ?? defaultPeriodHours) * clock.hourMs
      : nextStart(configuration.startTime, since);
  const failures = lastDone === undefined ? scheduled : scheduled.slice(0, scheduled.indexOf(lastDone));
  const [latest] = failures;
  if (latest === undefined) return due;
  const pause = Math.min(maxRetryMs, firstRetryMs * 2 ** (failures.length - 1)) * (clock.hourMs / 3_600_000);
  return Math.max(due, Date.parse(latest.finished_at ?? latest.started_at) + pause);
}

/** The first `HH:MM` UTC after a time. */
function nextStart(startTime: string, after: number): number {
  const [hours = 0, minutes = 0] = startTime.split(":").map(Number);
  const candidate = new Date(after);
  candidate.setUTCHours(hours, minutes, 0, 0);
  if (candidate.getTime() <= after) candidate.setUTCDate(candidate.getUTCDate() + 1);
  return candidate.getTime();
}

/**
 * The backup that the next one builds upon: the newest one, when it and all below it are whole, lie at the same place in
 * the same form, and the chain is not full. Undefined: the next one is full.
 */
export function chooseBase(
  rows: readonly BackupRow[],
  current: { location: string; encrypted: number; maxChain: number },
): BackupRow | undefined {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const [newest] = rows.filter((row) => row.status === "done").sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
  let length = 1;
  for (let row = newest; row !== undefined; length += 1) {
    const usable =
      row.status === "done" &&
      row.verification === "passed" &&
      row.location === current.location &&
      row.encrypted === current.encrypted;
    if (!usable || length >= current.maxChain) return undefined;
    if (row.base_id === null) return newest;
    row = byId.get(row.base_id);
  }
  return undefined;
}

/** `20261121T095200Z-1a2b3c4d`: sorts by the time it was asked for, and is unique with its id. */
export function backupName(askedAt: string, id: string): string {
  return `${askedAt.replaceAll(/[-:]|\.\d+/g, "")}-${id.slice(0, 8)}`;
}
