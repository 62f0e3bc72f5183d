/** How the connector of a kind with an inbox reaches it. */

/** What was sent to the pipe: files that the control plane writes, with rows by their offset. */
export type InboxAccess = {
  /** The folder with the files. */
  folder(): Promise<string>;
  /** Waits for rows from this offset on, for a while; returns the offset after the last one that may be read. */
  news(after: number): Promise<number>;
  /** Everything before the offset is durable in the table, and its checkpoint is saved. */
  loaded(next: number): Promise<void>;
};
