/** Reads members of a row of which some cannot be read. */
import { AppError } from "../lib/errors.ts";

export class RowMembers {
  readonly #unreadable: string;
  #problem: string | undefined;

  /** `unreadable`: the sentence for a failure without one of its own. */
  constructor(unreadable: string) {
    this.#unreadable = unreadable;
  }

  /** Why the first of the unreadable members cannot be read; undefined: all can be. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The member, or `empty` if it cannot be read. */
  read<T>(member: () => T, empty: T): T {
    try {
      return member();
    } catch (error) {
      this.#problem ??= error instanceof AppError ? error.message : this.#unreadable;
      return empty;
    }
  }
}
