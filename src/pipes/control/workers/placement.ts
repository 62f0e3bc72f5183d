/**
 * Which worker process runs a replica of a pipe. Only pipes of one class share a process: those of one organization,
 * one kind of source and the same right to the machine's credentials, so that a process never holds secrets of two
 * organizations, unless the operator allows it.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "../../../lib/json.ts";
import { usesOwnCredentials } from "./worker-process.ts";

/** What the class of a pipe follows from. */
export type Classed = {
  readonly organizationId: string;
  readonly sourceKind: string;
  readonly config: JsonObject;
};

/**
 * Pipes with the same text may share a process. It contains no secret, and can be a part of a file name. `sharer`:
 * whoever owns the processes that organizations share; undefined where they share none.
 */
export function workerClassOf({ organizationId, sourceKind, config }: Classed, sharer?: string): string {
  const owner = sharer ?? organizationId;
  const text = JSON.stringify([owner, sourceKind, usesOwnCredentials(config)]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** A running process that accepts further pipes of its class. */
export type RunningWorker = {
  /** Pipe ids of its slots, with repetitions. */
  readonly pipeIds: readonly string[];
  /** Share of a processor that its event loop uses, 0 to 1. */
  readonly utilization: number;
};

/** A process above this share is chosen only when all are. */
const busyShare = 0.5;

/**
 * One without pipes, otherwise the least loaded candidate, or undefined when a new process should be started: while
 * there are fewer than `most`, every replica gets one of its own.
 */
export function choose<C extends RunningWorker>(candidates: readonly C[], pipeId: string, most: number): C | undefined {
  const free = candidates.find(({ pipeIds }) => pipeIds.length === 0);
  if (free !== undefined) return free;
  if (candidates.length < most) return undefined;
  const rank = ({ pipeIds, utilization }: C) => [
    pipeIds.filter((id) => id === pipeId).length,
    utilization > busyShare ? 1 : 0,
    pipeIds.length,
    utilization,
  ];
  return candidates.toSorted((one, other) => compare(rank(one), rank(other)))[0];
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] as number) - (other[at] as number);
}
