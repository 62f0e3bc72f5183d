/** What the launcher is told. */
import type { Rules } from "./rules.ts";

export type Launch = {
  /** An absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rules: Rules;
  /** The pid of the process whose end ends the program. */
  readonly parent: number;
  /** Descriptors beyond the standard three that the program gets. */
  readonly inherited: readonly number[];
  /** The version of Landlock to use at most. */
  readonly landlock: number;
};

/**
 * The launcher's only variable: the number of the descriptor that a Launch comes through, as JSON. It may hold secrets, so
 * it is no argument.
 */
export const launchVariable = "MILLRACE_LAUNCH";
