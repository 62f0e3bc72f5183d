/** The state of a pipe as every answer shows it. */
import type { PipeOverview } from "../../store/pipes/pipe-overviews.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";

export type StateFacts = Pick<Pipe, "state" | "generation" | "observedGeneration" | "desiredState" | "resyncRequested">;

/**
 * The stored state; after a change or a command, until the supervisor has acted on it, the one that the pipe is brought
 * to: what the workers of an earlier definition report says nothing about this one.
 */
export function shownPipeState(pipe: StateFacts): Pipe["state"] {
  const { state, desiredState, resyncRequested } = pipe;
  if (isActedOn(pipe)) return state;
  const rests = ["Stopped", "Completed", "Failed", "InternalError"].includes(state);
  if (resyncRequested) return "Resync";
  if (desiredState !== "running") return rests ? "Stopped" : "Stopping";
  return rests || state === "Provisioning" ? "Provisioning" : "Modifying";
}

/** Whether the stored state, with its reason, is of the present definition. */
export function isActedOn({ generation, observedGeneration }: Pick<StateFacts, "generation" | "observedGeneration">) {
  return generation === observedGeneration;
}

/** With the state that every answer shows: filters, orders and alerts are by it. */
export function asShown(pipe: PipeOverview): PipeOverview {
  const stateMessage = isActedOn(pipe) ? pipe.stateMessage : null;
  return { ...pipe, state: shownPipeState(pipe), stateMessage };
}
