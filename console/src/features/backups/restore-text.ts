/** A restore in words, and how long it takes. */
import type { Restore } from "./backup.ts";

type Part = Pick<Restore, "scope" | "sourceDatabase" | "sourceTable" | "targetDatabase" | "targetTable">;

/** `table a.b as c.d`. */
export function targetText({ scope, sourceDatabase, sourceTable, targetDatabase, targetTable }: Part): string {
  if (scope === "service") return "the whole service";
  if (scope === "database") return `database ${sourceDatabase} as ${targetDatabase}`;
  return `table ${sourceDatabase}.${sourceTable} as ${targetDatabase}.${targetTable}`;
}

/** What a restore is doing. */
export function phaseText({ status, progress }: Pick<Restore, "status" | "progress">): string {
  if (status === "queued") return "Waiting for its turn";
  if (status === "done") return "Restored";
  if (status === "error") return "Failed";
  if (progress.totalBytes === 0) return "Reading what the backup contains";
  return progress.doneBytes < progress.totalBytes ? "Fetching and restoring" : "Checking the restored rows";
}

export type Sample = { readonly at: number; readonly bytes: number };

/** Seconds until all bytes are done, by the rate since the first sample; undefined while nothing moves. */
export function secondsLeft(first: Sample | undefined, now: Sample, totalBytes: number): number | undefined {
  if (first === undefined || now.at <= first.at || now.bytes <= first.bytes) return undefined;
  return ((totalBytes - now.bytes) / (now.bytes - first.bytes)) * ((now.at - first.at) / 1000);
}
