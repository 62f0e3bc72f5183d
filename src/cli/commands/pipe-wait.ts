/** Waiting for pipes. */
import type { PipeObject } from "../client/resolve.ts";
import { advance, type Moment } from "../output/progress.ts";
import { count, span } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { type WaitFlags, waitFor } from "../wait.ts";

type Pipe = Omit<PipeObject, "serviceName">;

/** What a wait ends with: first rows in the destination, a running pipe, or a stopped one. */
export type PipeTarget = "rows" | "running" | "stopped";

const failed = ["Failed", "InternalError"];
const running = ["Running", "Snapshot", "Completed"];

/** Exit code 3 when the pipe has failed. A pipe that is only degraded is tried again by the server. */
export async function awaitPipe(
  shell: Shell,
  pipe: Pick<Pipe, "id" | "name" | "serviceId">,
  target: PipeTarget,
  flags: WaitFlags,
): Promise<Pipe> {
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  let states: string[] = [];
  return await waitFor<Pipe>(shell, flags, {
    what: `pipe ${pipe.name}`,
    poll: () => shell.call("getPipe", { params }),
    verdict: (now) => verdictOf(now, target),
    line: (now, at) => {
      if (states.at(-1) !== now.state) states = [...states, now.state];
      return `${pipe.name}: ${states.join(" -> ")}${progressText(now, at)} ${span(at.elapsedMs / 1000)}`;
    },
    key: ({ state }) => state,
    reason: ({ lastError }) => lastError,
    goesOn: `pipe ${pipe.name} goes on at the server`,
  });
}

function verdictOf({ state, progress }: Pipe, target: PipeTarget): "done" | "failed" | "pending" {
  if (target === "stopped") return state === "Stopped" || failed.includes(state) ? "done" : "pending";
  if (failed.includes(state)) return "failed";
  if (target === "running") return running.includes(state) ? "done" : "pending";
  return state === "Completed" || (progress.sentRows ?? 0) > 0 ? "done" : "pending";
}

function progressText({ progress }: Pipe, at: Moment): string {
  const rows = progress.sentRows ?? 0;
  const total = progress.snapshotRowsEstimated;
  const files =
    progress.filesFound === undefined ? "" : `, ${progress.filesLoaded ?? 0} of ${progress.filesFound} files`;
  return rows === 0 ? files : `, ${advance(rows, total, at, (n) => count(n))} rows${files}`;
}
