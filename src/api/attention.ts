/**
 * What needs a person, of services, pipes and alerts: one rule for `millrace status`, the console's overview and alerts
 * of states. It imports nothing, as browsers run it too.
 */

export type Finding = {
  readonly about: "state" | "backup" | "disk" | "lag" | "refused" | "errors";
  readonly severity: "bad" | "warn";
  readonly sentence: string;
  /** Since when, if that is known. */
  readonly at: string | undefined;
};

/** Members of a service in lists. */
export type WatchedService = {
  readonly state: string;
  readonly stateMessage?: string | undefined;
  readonly stateChangedAt?: string | undefined;
  readonly lastBackup?:
    | {
        readonly status: string;
        readonly startedAt: string;
        readonly verification: string;
        readonly verifiedAt?: string | undefined;
      }
    | undefined;
  readonly diskGb?: number | undefined;
  readonly diskUsedBytes?: number | undefined;
};

/** Members of a pipe in the list of all pipes. */
export type WatchedPipe = {
  readonly state: string;
  readonly stateMessage?: string | undefined;
  readonly stateChangedAt?: string | undefined;
  readonly lastError?: { readonly message: string; readonly at: string } | undefined;
  readonly lag?: { readonly trend?: string | undefined; readonly seconds?: number | undefined } | undefined;
  readonly rows?: number | undefined;
  readonly errors?: number | undefined;
  readonly refusedRows?: number | undefined;
  readonly refusedObjects?: number | undefined;
};

/** Members of an alert in lists. */
export type WatchedAlert = {
  readonly state: string;
  readonly stateChangedAt: string;
  /** The newest first. */
  readonly executionErrors: readonly { readonly type: string; readonly message: string; readonly timestamp: string }[];
};

const diskShare = 0.9;
const bytesPerGb = 2 ** 30;
const growingSeconds = 60;

/** Its state, its newest backup and its disk. */
export function serviceFindings(service: WatchedService): Finding[] {
  const { state, stateMessage, stateChangedAt: at, lastBackup, diskGb, diskUsedBytes } = service;
  const found: Finding[] = [];
  const share = diskGb === undefined || diskUsedBytes === undefined ? 0 : diskUsedBytes / (diskGb * bytesPerGb);
  const isUnwell = state === "failed" || state === "degraded";
  // The message of a service that is well is the server's sentence about the quota, which is told once.
  const isFull = share >= 1 && stateMessage !== undefined && !isUnwell;
  if (isUnwell || stateMessage !== undefined) {
    const severity = state === "failed" || isFull ? "bad" : "warn";
    found.push({
      about: isFull ? "disk" : "state",
      severity,
      sentence: stateMessage ?? `The service is ${state}.`,
      at,
    });
  }
  if (lastBackup?.status === "error") {
    found.push({ about: "backup", severity: "bad", sentence: "The last backup failed.", at: lastBackup.startedAt });
  } else if (lastBackup?.verification === "failed") {
    const sentence = "The last backup did not pass its check: it may not be restorable.";
    found.push({ about: "backup", severity: "bad", sentence, at: lastBackup.verifiedAt });
  }
  if (share > diskShare && !isFull) {
    const percent = Math.floor(share * 100);
    const sentence = `${percent} % of the disk quota is used; above it the service accepts no more data.`;
    found.push({ about: "disk", severity: percent >= 100 ? "bad" : "warn", sentence, at: undefined });
  }
  return found;
}

/** Its state or else its growing lag, and what it has refused. `spanOf` writes a number of seconds. */
export function pipeFindings(pipe: WatchedPipe, spanOf = (seconds: number) => `${Math.round(seconds)} s`): Finding[] {
  const { state, stateMessage, lastError, lag, errors = 0 } = pipe;
  const found: Finding[] = [];
  if (["Failed", "Degraded", "InternalError", "Unknown"].includes(state)) {
    const sentence = stateMessage ?? lastError?.message ?? `The pipe is ${state.toLowerCase()}.`;
    const severity = state === "Degraded" ? "warn" : "bad";
    found.push({ about: "state", severity, sentence, at: pipe.stateChangedAt ?? lastError?.at });
  } else if (lag?.trend === "growing" && (lag.seconds ?? 0) >= growingSeconds) {
    const sentence = `${spanOf(lag.seconds ?? 0)} behind its source, and the distance grows.`;
    found.push({ about: "lag", severity: "warn", sentence, at: undefined });
  }
  if (errors > 0) found.push({ about: "refused", severity: "warn", sentence: refusedText(pipe), at: undefined });
  return found;
}

/** That it fires, and what keeps it from being evaluated or told. */
export function alertFindings({ state, stateChangedAt, executionErrors }: WatchedAlert): Finding[] {
  const found: Finding[] = [];
  if (state === "ALERT")
    found.push({ about: "state", severity: "bad", sentence: "The alert fires.", at: stateChangedAt });
  const [error] = executionErrors;
  if (error === undefined) return found;
  const what = error.type === "WEBHOOK_ERROR" ? "A notification was not delivered" : "The alert cannot be evaluated";
  found.push({ about: "errors", severity: "warn", sentence: `${what}: ${error.message}`, at: error.timestamp });
  return found;
}

/** False for a count since the creation: it never ends, and therefore fails no check and fires no alert. */
export function isOngoing({ about }: Pick<Finding, "about">): boolean {
  return about !== "refused";
}

/** Rows, whole objects and what is lacking at the source are counted apart: only rows have a share. */
function refusedText({ errors = 0, refusedRows = 0, refusedObjects = 0, rows = 0 }: WatchedPipe): string {
  const units = [
    counted(errors - refusedRows - refusedObjects, "gap"),
    counted(refusedObjects, "object"),
    counted(refusedRows, "row"),
  ].filter((text) => text !== "");
  const percent = (100 * refusedRows) / (refusedRows + rows);
  const share = percent < 1 ? "less than 1 %" : `${Math.round(percent)} %`;
  const ofRows = refusedRows === 0 ? "" : `, ${share} of the rows that came`;
  return `${units.join(" and ")} refused since it was created${ofRows}.`;
}

function counted(count: number, unit: string): string {
  return count <= 0 ? "" : `${count.toLocaleString("en-US")} ${unit}${count === 1 ? "" : "s"}`;
}
