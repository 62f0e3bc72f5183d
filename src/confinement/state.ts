/** What wall this machine has. */
import { architecture } from "./kernel.ts";
import { landlockVersion, missingAt } from "./landlock.ts";

export type ConfinementState = {
  /** True: children reach nothing but what their rules name. */
  readonly confined: boolean;
  /** The kernel's version of Landlock; 0: none. */
  readonly landlock: number;
  /** What the wall lacks here, in words. */
  readonly missing: readonly string[];
  /** All of it in one sentence. */
  readonly sentence: string;
};

let known: ConfinementState | undefined;

/** Found out once per process. Never throws: where nothing can be said, there is no wall. */
export function confinementState(): ConfinementState {
  known ??= stateOf(landlockVersion(), why());
  return known;
}

/** `reason` says why there is no wall, where there is none. */
export function stateOf(landlock: number, reason: string): ConfinementState {
  if (landlock === 0) {
    const sentence = `Engines and pipe workers run without confinement, because ${reason}: whoever breaks out of one of them reaches all that this user reaches.`;
    return { confined: false, landlock, missing: ["everything"], sentence };
  }
  const missing = missingAt(landlock);
  const confined = landlock > 1;
  const but = missing.length === 0 ? "" : `, but ${missing.join(", and ")}`;
  const sentence = `Engines and pipe workers are confined by Landlock, version ${landlock}${but}.`;
  return { confined, landlock, missing, sentence };
}

/** For operators who would rather have no server than one without a wall. Throws with the state's sentence. */
export function assertConfined({ confined, sentence }: ConfinementState): void {
  if (!confined) throw new Error(`--require-confinement: ${sentence}`);
}

function why(): string {
  if (process.platform !== "linux") return `${process.platform} has no Landlock`;
  if (architecture() === undefined) return `Landlock is not supported on ${process.arch}`;
  return "this kernel has no Landlock (Linux 5.13 or newer, switched on by lsm=landlock)";
}
