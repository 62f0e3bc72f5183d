/** What has last gone wrong with a pipe, which outlives the state that it was the reason of. */
import type { Queries } from "./database.ts";

/** Keeps the reason of a state as the last thing that has gone wrong. */
export async function noteError(tx: Queries, id: string, message: string, at: string): Promise<void> {
  await tx.run(
    `INSERT INTO pipe_outcomes (pipe_id, last_error, last_error_at) VALUES (?, ?, ?)
     ON CONFLICT (pipe_id) DO UPDATE SET last_error = excluded.last_error, last_error_at = excluded.last_error_at`,
    ...[id, message, at],
  );
}
