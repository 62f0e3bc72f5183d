/** Which word describes a pipe, from what is asked for, what its workers say and what its service does. */
import type { PipeState } from "../../api/pipes.ts";
import type { WorkerStatus } from "../protocol.ts";

export type Shown = { readonly state: PipeState; readonly reason: string | null };

/** The worst word of all replicas wins; a pipe is completed when all of them are. */
export function shownState(statuses: readonly WorkerStatus[]): Shown {
  const failed = statuses.find((status) => status.phase === "failed");
  if (failed?.phase === "failed") return { state: "Failed", reason: failed.reason };
  const degraded = statuses.find((status) => status.phase === "degraded");
  if (degraded?.phase === "degraded") return { state: "Degraded", reason: degraded.reason };
  if (statuses.some((status) => status.phase === "preparing")) return { state: "Provisioning", reason: null };
  if (statuses.some((status) => status.phase === "snapshot")) return { state: "Snapshot", reason: null };
  if (statuses.length > 0 && statuses.every((status) => status.phase === "completed")) {
    return { state: "Completed", reason: null };
  }
  return { state: "Running", reason: null };
}

/** States that last until somebody edits the pipe or gives a command. */
export function isFinal(state: PipeState): boolean {
  return state === "Completed" || state === "Failed" || state === "InternalError";
}

/** Services whose pipes may run; an idle service is woken when a pipe has work. */
export function serviceAllowsPipes(service: { desiredState: string; state: string } | undefined): boolean {
  if (service === undefined || service.desiredState !== "running") return false;
  return ["running", "idle", "awaking", "degraded", "starting"].includes(service.state);
}
