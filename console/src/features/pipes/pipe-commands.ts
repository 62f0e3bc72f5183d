/** Commands of a pipe, and which of them applies. */
import { useChange } from "../../api/queries.ts";
import { toast, toastError } from "../../parts/toast.tsx";
import type { PipeKind, PipeState } from "./list-search.ts";

export type PipeSubject = {
  readonly id: string;
  readonly serviceId: string;
  readonly name: string;
  readonly kind: PipeKind;
  readonly state: PipeState;
};

const restingStates: readonly PipeState[] = ["Stopped", "Stopping", "Paused", "Completed", "Failed"];

/** Whether the next command is a start. */
export function isResting(state: PipeState): boolean {
  return restingStates.includes(state);
}

/** Operations that show a pipe. */
export const pipeReads = ["listAllPipes", "getPipe", "listActivities"] as const;

export function useCommand({ id, serviceId, name }: PipeSubject) {
  const change = useChange("updatePipeState", { changes: pipeReads });
  const params = { serviceId, pipeId: id };
  const send = (command: "start" | "stop") =>
    change
      .mutateAsync({ params, body: { command } })
      .then(() => toast(command === "start" ? `${name} starts.` : `${name} stops.`, "info"), toastError);
  return { send, busy: change.isPending };
}
