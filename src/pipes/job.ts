/** From a stored pipe to the job of its worker. */
import { availableParallelism } from "node:os";
import type { Pipe } from "../store/pipes.ts";
import { destinationTable, managedTableSql } from "./destination.ts";
import type { Job } from "./protocol.ts";

export function jobOf(pipe: Pipe, secrets: Record<string, unknown>): Job {
  const own = pipe.source[pipe.sourceKind] as Record<string, unknown>;
  return {
    pipeId: pipe.id,
    epoch: pipe.epoch,
    kind: pipe.sourceKind,
    config: mergeSecrets(own, secrets),
    secretValues: stringsIn(secrets),
    settings: pipe.settings,
    concurrency: concurrencyOf(pipe),
    destination: destinationTable(pipe),
    setup: pipe.destination.managedTable === false ? [] : managedTableSql(pipe.destination),
  };
}

/** Inserts side by side: as set, else one per core and at most four. */
function concurrencyOf(pipe: Pipe): number {
  const set = Number(pipe.settings.object_storage_concurrency ?? pipe.scaling.concurrency ?? 0);
  return set > 0 ? set : Math.min(4, availableParallelism());
}

/** Puts opened secrets back where they belong; both are plain JSON objects. */
export function mergeSecrets(
  config: Record<string, unknown>,
  secrets: Record<string, unknown>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...config };
  for (const [key, value] of Object.entries(secrets)) {
    const both = isObject(merged[key]) && isObject(value);
    merged[key] = both ? mergeSecrets(merged[key] as Record<string, unknown>, value as Record<string, unknown>) : value;
  }
  return merged;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
