/** What the ledger says of one of several tables of a pipe. */
export type TableProgress = {
  readonly targetTable: string;
  /** With its schema. */
  readonly sourceTable: string;
  readonly state: "Setup" | "Snapshot" | "Running" | "Stopped" | "Completed";
  /** Why it is stopped, since when, and what has to be done before it is copied anew. */
  readonly reason?: string;
  readonly stoppedAt?: string;
  readonly remedy?: string;
};

/** One of the tables that a connector creates, with the types of its columns by name, in order. */
export type TableLayout = {
  readonly table: string;
  readonly sortingKey: string;
  readonly columns: ReadonlyMap<string, string>;
};
