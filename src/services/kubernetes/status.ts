/** What the operator says about an installation. */
import type { Installation } from "./objects.ts";

/** `unseen`: the operator has not begun with what was written last. */
export type Phase = "unseen" | "working" | "completed" | "aborted";

export function phaseOf({ spec, status = {} }: Pick<Installation, "spec" | "status">): Phase {
  const isOfTask = status.taskID === undefined || status.taskID === spec.taskID;
  // A task that was given up is among the completed ones, too.
  if (status.status === "Aborted" && isOfTask) return "aborted";
  if (status.taskIDsCompleted?.includes(spec.taskID ?? "") === true) return "completed";
  if (status.status === undefined || !isOfTask) return "unseen";
  return "working";
}

/** One clause for users. */
export function progressOf(installation: Pick<Installation, "spec" | "status">): string {
  // Its list of errors keeps those of tasks that are over.
  const { hosts, hostsCompleted, error } = installation.status ?? {};
  const phase = phaseOf(installation);
  if (phase === "unseen") return "the ClickHouse operator has not answered yet; check that it watches this namespace";
  const done = hosts === undefined ? "" : `, ${hostsCompleted ?? 0} of ${hosts} hosts done`;
  const said = error === undefined || error === "" ? "" : `: ${error.slice(0, 500)}`;
  return `the ClickHouse operator says ${installation.status?.status}${done}${said}`;
}
