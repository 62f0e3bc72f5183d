/** What the ledger says of one of several tables of a pipe. */
export type TableProgress = {
  readonly targetTable: string;
  /** With its schema. */
  readonly sourceTable: string;
  readonly state: "Setup" | "Snapshot" | "Running" | "Stopped" | "Completed";
  /** Why it is stopped, since when, and what helps. */
  readonly reason?: string;
  readonly stoppedAt?: string;
  readonly remedy?: string;
};
