/**
 * What to do with a pipe, as a total table: wanted x observed x service -> action.
 *
 * running   asked to run
 *   absent    no workers yet, after a death, or after a restart of Millrace -> start, or wait for the service
 *   stopped   no workers, shown as stopped                               -> start, or wait for the service
 *   final     no workers; the outcome of this definition is written       -> rest until an edit or a command
 *   running   workers of this definition                                  -> watch; end while the service is away
 *   outdated  workers of an earlier definition, or in a process to leave  -> end, so that the next pass starts new ones
 *   died      a worker ended without an outcome                           -> recover; end while the service is away
 *   settled   a worker failed, or all completed                           -> finish: write the outcome, end the workers
 * stopped   asked to stop                          -> stop; rest when that is written; the service does not matter
 * resync    asked to start over, then to run       -> startOver, whatever the workers and the service do
 * deleted   asked to go                            -> remove, whatever the workers and the service do
 */
import type { PipeState } from "../../../api/pipes.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import type { WorkerStatus } from "../../protocol.ts";

export type WantedPipe = "running" | "stopped" | "resync" | "deleted";
export type ObservedPipe = "absent" | "stopped" | "final" | "running" | "outdated" | "died" | "settled";
/** `away`: a service whose engine would not wake for a pipe. */
export type ServicePresence = "present" | "away";

export type PipeAction =
  | "start"
  | "wait"
  | "rest"
  | "watch"
  | "end"
  | "recover"
  | "finish"
  | "stop"
  | "startOver"
  | "remove";

const ifRunning: Record<ObservedPipe, Record<ServicePresence, PipeAction>> = {
  absent: { present: "start", away: "wait" },
  stopped: { present: "start", away: "wait" },
  final: { present: "rest", away: "rest" },
  running: { present: "watch", away: "end" },
  outdated: { present: "end", away: "end" },
  died: { present: "recover", away: "end" },
  settled: { present: "finish", away: "finish" },
};

const ifStopped: Record<ObservedPipe, PipeAction> = {
  absent: "stop",
  stopped: "rest",
  final: "stop",
  running: "stop",
  outdated: "stop",
  died: "stop",
  settled: "stop",
};

export function pipeAction(wanted: WantedPipe, observed: ObservedPipe, service: ServicePresence): PipeAction {
  if (wanted === "deleted") return "remove";
  if (wanted === "resync") return "startOver";
  return wanted === "stopped" ? ifStopped[observed] : ifRunning[observed][service];
}

/** A pipe goes with its service, as if it had been asked to go itself. */
export function wantedOf(
  { desiredState, resyncRequested }: Pick<Pipe, "desiredState" | "resyncRequested">,
  service?: { readonly desiredState: string },
): WantedPipe {
  if (service?.desiredState === "deleted") return "deleted";
  return desiredState !== "deleted" && resyncRequested ? "resync" : desiredState;
}

/** The workers of a pipe that were started together. */
export type WorkersFacts = {
  /** Generation of the definition that they run. */
  readonly generation: number;
  readonly workers: readonly { readonly status: WorkerStatus; readonly over: boolean; readonly isLeaving: boolean }[];
};

/** `workers` is undefined for a pipe without any. */
export function observedOf(
  pipe: Pick<Pipe, "state" | "generation" | "observedGeneration">,
  workers: WorkersFacts | undefined,
): ObservedPipe {
  if (workers === undefined) {
    if (pipe.observedGeneration !== pipe.generation) return "absent";
    return isFinal(pipe.state) ? "final" : pipe.state === "Stopped" ? "stopped" : "absent";
  }
  if (workers.generation !== pipe.generation) return "outdated";
  if (workers.workers.some(({ status, over }) => over && !hasOutcome(status))) return "died";
  if (isFinal(shownState(workers.workers.map(({ status }) => status)).state)) return "settled";
  return workers.workers.some(({ isLeaving }) => isLeaving) ? "outdated" : "running";
}

/** An idle service counts as present: it wakes when a pipe has work. */
export function presenceOf(service: { desiredState: string; state: string } | undefined): ServicePresence {
  if (service === undefined || service.desiredState !== "running") return "away";
  return ["running", "idle", "awaking", "degraded", "starting"].includes(service.state) ? "present" : "away";
}

export type ShownState = { readonly state: PipeState; readonly reason: string | null };

/** The worst status of all workers wins; a pipe is completed when all of them are. */
export function shownState(statuses: readonly WorkerStatus[]): ShownState {
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

/** True for a worker that has reported its outcome. */
export function hasOutcome(status: WorkerStatus): boolean {
  return status.phase === "completed" || status.phase === "failed";
}

/** States that last until the pipe is edited or receives a command. */
function isFinal(state: PipeState): boolean {
  return state === "Completed" || state === "Failed" || state === "InternalError";
}
