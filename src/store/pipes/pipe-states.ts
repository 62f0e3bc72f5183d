/** How the state of a pipe is written: with its last error, and the activity of the change. */
import type { PipeState } from "../../api/pipes.ts";
import { addActivity } from "../access/activities.ts";
import type { Queries } from "../database/database.ts";

type Before = {
  readonly name: string;
  readonly serviceId: string;
  readonly organizationId: string;
  readonly state: PipeState;
  readonly reason: string | null;
};

export type WrittenState = {
  readonly state: PipeState;
  readonly lastError: string | null;
  readonly observedGeneration: number;
};

/** Writes the state; it is not an activity when nothing has changed. */
export async function writePipeState(tx: Queries, id: string, written: WrittenState): Promise<void> {
  const { state, lastError, observedGeneration } = written;
  const now = new Date().toISOString();
  const before = await tx.get<Before>(
    `SELECT pipes.name, service_id AS "serviceId", organization_id AS "organizationId", pipes.state,
       last_error AS reason FROM pipes JOIN services ON services.id = service_id WHERE pipes.id = ?`,
    id,
  );
  await tx.run(
    `UPDATE pipes SET state_changed_at = CASE state WHEN ? THEN state_changed_at ELSE ? END, state = ?,
       last_error = ?, observed_generation = ? WHERE id = ?`,
    ...[state, now, state, lastError, observedGeneration, id],
  );
  if (before === undefined || (before.state === state && isSameReason(before.reason, lastError))) return;
  if (lastError !== null && state !== "Stopped") await noteError(tx, id, lastError, now);
  const { organizationId, serviceId, name } = before;
  const object = { type: "pipe", id, name };
  const type = `pipe_${state.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()}`;
  await addActivity(tx, { organizationId, type, serviceId, object, reason: lastError });
}

/** A reason that counts seconds or attempts is the same one. */
function isSameReason(before: string | null, now: string | null): boolean {
  return before?.replaceAll(/\d+/g, "#") === now?.replaceAll(/\d+/g, "#");
}

/** A stopped pipe's reason is not an error: it waits for its service. */
async function noteError(tx: Queries, id: string, message: string, at: string): Promise<void> {
  await tx.run(
    `INSERT INTO pipe_outcomes (pipe_id, last_error, last_error_at) VALUES (?, ?, ?)
     ON CONFLICT (pipe_id) DO UPDATE SET last_error = excluded.last_error, last_error_at = excluded.last_error_at`,
    ...[id, message, at],
  );
}
