/** How the state of a service is written, with the activity of the change. */
import type { ServiceState } from "../../api/services.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { addActivity } from "../access/activities.ts";
import type { Queries } from "../database/database.ts";
import type { ManagedConnection } from "./service-connections.ts";

type Before = {
  readonly organization_id: string;
  readonly name: string;
  readonly state: ServiceState;
  readonly state_message: string | null;
};

/** Writes the state; it is not an activity when nothing has changed. */
export async function writeServiceState(
  tx: Queries,
  id: string,
  state: ServiceState,
  message: string | null,
): Promise<void> {
  // A wake request ends with the start that it causes; kept longer, it would excuse every later death.
  const grants = ["starting", "awaking", "running", "stopped"].includes(state);
  const clear = grants ? ", wake_requested = 0" : "";
  const columns = "organization_id, name, state, state_message";
  const before = await tx.get<Before>(`SELECT ${columns} FROM services WHERE id = ?`, id);
  await tx.run(
    `UPDATE services SET state_changed_at = CASE state WHEN ? THEN state_changed_at ELSE ? END, state = ?,
       state_message = ?${clear} WHERE id = ?`,
    ...[state, new Date().toISOString(), state, message, id],
  );
  if (before === undefined || (before.state === state && before.state_message === message)) return;
  const object = { type: "service", id, name: before.name };
  const { organization_id: organizationId } = before;
  await addActivity(tx, { organizationId, type: `service_${state}`, serviceId: id, object, reason: message });
}

export type EngineFacts = {
  readonly databaseVersion: string;
  /** A service in Kubernetes has it. */
  readonly managedConnection?: ManagedConnection | undefined;
};

/** What a started engine has told. */
export async function writeEngineFacts(
  tx: Queries,
  id: string,
  { databaseVersion, managedConnection }: EngineFacts,
): Promise<void> {
  const connection = managedConnection === undefined ? null : JSON.stringify(versioned(managedConnection));
  const change = "UPDATE services SET database_version = ?, managed_connection = ? WHERE id = ?";
  await tx.run(change, databaseVersion, connection, id);
}
