/** The launcher's input. */
import type { Rules } from "./rules.ts";

export type Launch = {
  /** An absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rules: Rules;
  /** The pid of the process with which the program ends. */
  readonly parent: number;
  /** Descriptors, besides the standard three, that the program inherits. */
  readonly inherited: readonly number[];
  /** The highest version of Landlock to use. */
  readonly landlock: number;
};

/**
 * The launcher's only variable: the number of the descriptor from which it reads a Launch, as JSON. A Launch may hold
 * secrets, so it is not an argument.
 */
export const launchVariable = "MILLRACE_LAUNCH";
