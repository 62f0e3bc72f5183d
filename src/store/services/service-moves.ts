/**
 * Moves of embedded services to external servers: requested by the HTTP handlers, carried out by the services room,
 * which alone writes their progress. One move of a service is open at a time.
 */
import { randomUUID } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { insertRow, readFlag, recordReader } from "../database/columns.ts";
import type { Queries, StoredColumns } from "../database/database.ts";
import { findRecord, listRecords, Store, updateRows } from "../database/records.ts";
import { connectionOf, type ServiceConnection } from "./service-connections.ts";

export type MoveStatus = "copying" | "switching" | "completed" | "cancelled";

export type ServiceMove = {
  readonly id: string;
  readonly serviceId: string;
  readonly connection: ServiceConnection;
  /** Sealed as the password of the service itself. */
  readonly connectionPassword: string;
  /** What cannot be moved stays on the old side. */
  readonly leaveBehind: boolean;
  readonly status: MoveStatus;
  /** What the move waits for, or why its last attempt failed. */
  readonly message: string | null;
  readonly cancelRequested: boolean;
  /** The service that keeps the old side, once the move is completed. */
  readonly oldServiceId: string | null;
  readonly progress: MoveProgress;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly finishedAt: string | null;
};

export type MoveProgress = {
  readonly totalRows: number;
  readonly totalBytes: number;
  readonly copiedRows: number;
  readonly copiedBytes: number;
};

export type NewMove = Pick<ServiceMove, "serviceId" | "connection" | "connectionPassword" | "leaveBehind">;

/** The service that keeps the old side. */
export type OldSide = { readonly id: string; readonly name: string; readonly port: number };

export class ServiceMoves extends Store {
  /** Throws CONFLICT when a move of the service is open. */
  async request({ serviceId, connection, connectionPassword, leaveBehind }: NewMove): Promise<string> {
    const id = randomUUID();
    const now = new Date().toISOString();
    return await this.db.transaction(async (tx) => {
      if (await hasOpen(tx, serviceId))
        throw new AppError("CONFLICT", "A move of this service is in progress already.");
      const move = { id, serviceId, connection: versioned(connection), connectionPassword, leaveBehind };
      await insertRow(tx, "service_moves", { ...move, createdAt: now, updatedAt: now });
      return id;
    });
  }

  async find(id: string): Promise<ServiceMove | undefined> {
    return await findRecord(this.db, moves, "WHERE id = ?", id);
  }

  /** The newest move of a service. */
  async latestOf(serviceId: string): Promise<ServiceMove | undefined> {
    const latest = "WHERE service_id = ? ORDER BY finished_at IS NULL DESC, created_at DESC LIMIT 1";
    return await findRecord(this.db, moves, latest, serviceId);
  }

  async listOpen(): Promise<ServiceMove[]> {
    return await listRecords(this.db, moves, "WHERE finished_at IS NULL ORDER BY created_at, id");
  }

  async isOpen(serviceId: string): Promise<boolean> {
    return await hasOpen(this.db, serviceId);
  }

  /** Called by handlers only. Returns false when the move is finished. */
  async requestCancel(id: string): Promise<boolean> {
    const sql = "UPDATE service_moves SET cancel_requested = 1 WHERE id = ? AND finished_at IS NULL";
    return (await this.db.run(sql, id)) === 1;
  }

  async setMessage(id: string, message: string | null): Promise<void> {
    await this.db.run(
      "UPDATE service_moves SET message = ? WHERE id = ? AND message IS DISTINCT FROM ?",
      message,
      id,
      message,
    );
  }

  async setTotals(id: string, rows: number, bytes: number): Promise<void> {
    const totals = { totalRows: rows, totalBytes: bytes, updatedAt: new Date().toISOString() };
    await updateRows(this.db, "service_moves", { id }, totals);
  }

  /** Stops the service in the name of the move, and remembers what it is to be afterwards. */
  async beginSwitch(move: Pick<ServiceMove, "id" | "serviceId">): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.run(
        `UPDATE service_moves SET status = 'switching', message = NULL,
           held_state = (SELECT desired_state FROM services WHERE id = ?) WHERE id = ? AND status = 'copying'`,
        ...[move.serviceId, move.id],
      );
      await tx.run(
        "UPDATE services SET desired_state = 'stopped', wake_requested = 0 WHERE id = ? AND desired_state <> 'deleted'",
        move.serviceId,
      );
    });
  }

  /** Ends an attempt to switch: the service is again what it was. */
  async abandonSwitch(move: Pick<ServiceMove, "id" | "serviceId">): Promise<void> {
    await this.db.transaction(async (tx) => {
      await restoreDesired(tx, move);
      await updateRows(tx, "service_moves", { id: move.id }, { status: "copying", heldState: null });
    });
  }

  /**
   * The switch itself: the service becomes external, and a new one that is stopped keeps the engine that it had. Both
   * or none, in one transaction.
   */
  async switchOver(move: ServiceMove, old: OldSide): Promise<void> {
    const now = new Date().toISOString();
    await this.db.transaction(async (tx) => {
      await copyService(tx, move.serviceId, old, now);
      await restoreDesired(tx, move);
      await tx.run(
        `UPDATE services SET runtime = 'external', node_id = NULL, connection = ?, connection_password = ?, min_replica_memory_gb = 0,
           max_replica_memory_gb = 0, idle_scaling = 0, disk_gb = NULL, disk_used_bytes = NULL, table_rows = NULL,
           database_version = '', state_message = NULL, version = version + 1, updated_at = ? WHERE id = ?`,
        ...[JSON.stringify(versioned(move.connection)), move.connectionPassword, now, move.serviceId],
      );
      await finish(tx, move.id, { status: "completed", message: null, oldServiceId: old.id });
    });
  }

  /** The message says what stays on the server, if something does. */
  async cancelled(move: Pick<ServiceMove, "id" | "serviceId">, message: string | null): Promise<void> {
    await this.db.transaction(async (tx) => {
      await restoreDesired(tx, move);
      await finish(tx, move.id, { status: "cancelled", message });
    });
  }
}

async function restoreDesired(tx: Queries, { id, serviceId }: Pick<ServiceMove, "id" | "serviceId">): Promise<void> {
  await tx.run(
    `UPDATE services SET desired_state = (SELECT held_state FROM service_moves WHERE id = ?)
     WHERE id = ? AND desired_state <> 'deleted'
       AND EXISTS (SELECT 1 FROM service_moves WHERE id = ? AND held_state IS NOT NULL)`,
    ...[id, serviceId, id],
  );
}

/** With its users, so that whoever could read the old side still can. */
async function copyService(tx: Queries, serviceId: string, old: OldSide, now: string): Promise<void> {
  const kept =
    "organization_id, provider, region, min_replica_memory_gb, max_replica_memory_gb, num_replicas, idle_scaling, " +
    "node_id, idle_timeout_minutes, ip_access_list, tags, release_channel, disk_gb, disk_used_bytes, table_rows, database_version";
  await tx.run(
    `INSERT INTO services (id, name, port, ${kept}, desired_state, state, state_changed_at, created_at, updated_at)
     SELECT ?, ?, ?, ${kept}, 'stopped', 'stopped', ?, ?, ? FROM services WHERE id = ?`,
    ...[old.id, old.name, old.port, now, now, now, serviceId],
  );
  await tx.run(
    `INSERT INTO service_users (service_id, name, password_sha256, readonly, created_at)
     SELECT ?, name, password_sha256, readonly, created_at FROM service_users WHERE service_id = ?`,
    ...[old.id, serviceId],
  );
}

async function hasOpen(db: Queries, serviceId: string): Promise<boolean> {
  const open = "SELECT 1 AS one FROM service_moves WHERE service_id = ? AND finished_at IS NULL";
  return (await db.get(open, serviceId)) !== undefined;
}

/** What was copied is forgotten. */
async function finish(
  tx: Queries,
  id: string,
  members: { status: MoveStatus; message: string | null; oldServiceId?: string },
): Promise<void> {
  const now = new Date().toISOString();
  const finished = { ...members, heldState: null, updatedAt: now, finishedAt: now };
  await updateRows(tx, "service_moves", { id }, finished);
  await tx.run("DELETE FROM service_move_parts WHERE move_id = ?", id);
  await tx.run("DELETE FROM service_move_objects WHERE move_id = ?", id);
}

const moveOf = recordReader<Omit<ServiceMove, "progress">>()(
  [
    "id serviceId connection connectionPassword leaveBehind status message cancelRequested oldServiceId createdAt",
    "updatedAt finishedAt",
  ],
  {
    connection: (json: string) => connectionOf(json) as ServiceConnection,
    leaveBehind: readFlag,
    cancelRequested: readFlag,
  },
);
const progressOf = recordReader<MoveProgress>()(["totalRows totalBytes copiedRows copiedBytes"], {});

const moves = { table: "service_moves", read: toMove };

function toMove(row: StoredColumns): ServiceMove {
  return { ...moveOf(row), progress: progressOf(row) };
}
