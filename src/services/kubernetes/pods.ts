/** Why the pods of a service do not run, in words for its users. */

/** The read members of a pod. */
export type Pod = {
  readonly metadata?: { readonly name?: string };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
      readonly lastState?: { readonly terminated?: { readonly reason?: string; readonly exitCode?: number } };
    }[];
  };
};

/** The reasons of a container that has not been started yet, which is not a trouble. */
const usual = new Set(["ContainerCreating", "PodInitializing"]);

/** A clause about the first pod that cannot run; undefined when there is none. */
export function podTrouble(pods: readonly Pod[]): string | undefined {
  for (const { metadata, status } of pods) {
    const reason = unscheduled(status) ?? waiting(status);
    if (reason !== undefined) return `pod ${metadata?.name}: ${reason}`;
  }
  return undefined;
}

function unscheduled(status: Pod["status"]): string | undefined {
  const found = status?.conditions?.find(({ type, status: holds }) => type === "PodScheduled" && holds === "False");
  return found && `${found.reason ?? "Unschedulable"}: ${found.message ?? "no node has room for it"}`;
}

function waiting(status: Pod["status"]): string | undefined {
  for (const { state, lastState } of status?.containerStatuses ?? []) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || usual.has(reason)) continue;
    const { reason: end, exitCode } = lastState?.terminated ?? {};
    const before = end === undefined ? "" : ` (it ended before: ${end}, exit code ${exitCode})`;
    return `${reason}${message === undefined ? "" : `: ${message}`}${before}`;
  }
  return undefined;
}
