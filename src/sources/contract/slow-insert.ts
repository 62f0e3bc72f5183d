/** What a source does when an insert takes too long. */

/** What to do with a statement that takes longer than `afterMs`. */
export type SlowInsert = {
  readonly afterMs: number;
  /** Shown from then on, as long as the statement runs. */
  readonly warning: string;
  /** Called then, once: looks for what blocks the engine, which its host then ends. */
  readonly look: (signal: AbortSignal) => Promise<void>;
};
