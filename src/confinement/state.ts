/** The confinement that this machine supports. */
import { availableGroups } from "./cgroups.ts";
import { architecture } from "./kernel.ts";
import { landlockVersion, missingAt } from "./landlock.ts";

export type ConfinementState = {
  /** True when children can access only what their rules name. */
  readonly confined: boolean;
  /** The kernel's version of Landlock; 0: none. */
  readonly landlock: number;
  /** What the confinement lacks here, in words. */
  readonly missing: readonly string[];
  /** The version of the control groups that limit each child; undefined: no limits. */
  readonly groups: number | undefined;
  /** A summary in words. */
  readonly sentence: string;
};

let known: ConfinementState | undefined;

/** Determined once per process. Never throws: when it cannot be determined, there is no confinement. */
export function confinementState(): ConfinementState {
  known ??= stateOf(landlockVersion(), why(), availableGroups()?.version);
  return known;
}

/** `reason` says why there is no confinement; undefined when there is. */
export function stateOf(landlock: number, reason: string, groups: number | undefined): ConfinementState {
  const missing = landlock === 0 ? ["everything"] : missingAt(landlock);
  const sentence = `${wallSentence(landlock, reason, missing)} ${groupsSentence(groups)}`;
  return { confined: landlock > 1, landlock, missing, groups, sentence };
}

function wallSentence(landlock: number, reason: string, missing: readonly string[]): string {
  if (landlock === 0) {
    return `Engines and pipe workers run without confinement, because ${reason}: whoever breaks out of one of them reaches all that this user reaches.`;
  }
  const but = missing.length === 0 ? "" : `, but ${missing.join(", and ")}`;
  return `Engines and pipe workers are confined by Landlock, version ${landlock}${but}.`;
}

function groupsSentence(groups: number | undefined): string {
  return groups === undefined
    ? "Without control groups, one of them can take processors and memory from the others."
    : `Control groups, version ${groups}, share processors and bound memory and threads.`;
}

/** Serves operators who prefer no server to an unconfined one. Throws with the state's sentence. */
export function assertConfined({ confined, sentence }: ConfinementState): void {
  if (!confined) throw new Error(`--require-confinement: ${sentence}`);
}

function why(): string {
  if (process.platform !== "linux") return `${process.platform} has no Landlock`;
  if (architecture() === undefined) return `Landlock is not supported on ${process.arch}`;
  return "this kernel has no Landlock (Linux 5.13 or newer, switched on by lsm=landlock)";
}
