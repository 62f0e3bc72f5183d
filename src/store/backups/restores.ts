/** Restores, requested by the HTTP handlers and carried out by the backups room, which alone writes their progress. */
import { randomUUID } from "node:crypto";
import { addActivity } from "../access/activities.ts";
import { insertRow, readFlag, readPlainJson, recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { findRecord, listRecords, Store, updateRows } from "../database/records.ts";

export type RestoreStatus = "queued" | "in_progress" | "done" | "error";
/** What happens to the pipes captured with the backup: not recreated, or recreated in this desired state. */
export type PipesChoice = "none" | "stopped" | "running";

/** `service`: everything, into a new and empty service; `rebuild`: the same for a service that had its pipes. */
export type RestoreScope = "service" | "rebuild" | "database" | "table";

export type Restore = {
  readonly id: string;
  readonly backupId: string;
  /** The service that receives the data. */
  readonly serviceId: string;
  readonly scope: RestoreScope;
  readonly sourceDatabase: string | null;
  readonly sourceTable: string | null;
  readonly targetDatabase: string | null;
  readonly targetTable: string | null;
  /** Also from a damaged or unverified backup. */
  readonly forced: boolean;
  readonly pipes: PipesChoice;
  readonly status: RestoreStatus;
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly error: string | null;
  /** Sentences for the operator. */
  readonly notes: readonly string[];
  readonly createdAt: string;
  readonly finishedAt: string | null;
};

export type NewRestore = Pick<Restore, "backupId" | "serviceId" | "scope" | "forced" | "pipes"> &
  Partial<Pick<Restore, "sourceDatabase" | "sourceTable" | "targetDatabase" | "targetTable">>;

export class RestoreStore extends Store {
  /** `queries`: the transaction to join. */
  async request(restore: NewRestore, queries: Queries = this.db): Promise<string> {
    const id = randomUUID();
    await insertRow(queries, "restores", { ...restore, id, status: "queued", createdAt: new Date().toISOString() });
    return id;
  }

  async findIn(serviceId: string, id: string): Promise<Restore | undefined> {
    return await findRecord(this.db, restores, "WHERE service_id = ? AND id = ?", serviceId, id);
  }

  /** Newest first. */
  async listIn(serviceId: string): Promise<Restore[]> {
    return await listRecords(this.db, restores, "WHERE service_id = ? ORDER BY created_at DESC, id", serviceId);
  }

  /** Unfinished restores, oldest first. */
  async listOpen(): Promise<Restore[]> {
    const open = "WHERE status IN ('queued', 'in_progress') ORDER BY created_at, id";
    return await listRecords(this.db, restores, open);
  }

  /** The unfinished restore into a new service. */
  async findUnfinishedFor(serviceId: string): Promise<Restore | undefined> {
    const unfinished = "WHERE service_id = ? AND scope IN ('service', 'rebuild') AND status <> 'done'";
    return await findRecord(this.db, restores, unfinished, serviceId);
  }

  async begin(id: string): Promise<void> {
    const begun = { status: "in_progress", error: null, doneBytes: 0, finishedAt: null };
    await updateRows(this.db, "restores", { id }, begun);
  }

  async progress(id: string, doneBytes: number, totalBytes: number): Promise<void> {
    await updateRows(this.db, "restores", { id }, { doneBytes, totalBytes });
  }

  /** `error` is null on success. */
  async finish(id: string, error: string | null, notes: readonly string[]): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.run(
        `UPDATE restores SET status = ?, error = ?, notes = ?, finished_at = ?,
           done_bytes = CASE WHEN CAST(? AS TEXT) IS NULL THEN total_bytes ELSE done_bytes END WHERE id = ?`,
        ...[error === null ? "done" : "error", error, JSON.stringify(notes), new Date().toISOString(), error, id],
      );
      const into = await tx.get<{ organizationId: string; serviceId: string }>(
        `SELECT organization_id AS "organizationId", service_id AS "serviceId"
         FROM restores JOIN services ON services.id = service_id WHERE restores.id = ?`,
        id,
      );
      const type = error === null ? "restore_done" : "restore_failed";
      if (into !== undefined) await addActivity(tx, { ...into, type, object: { type: "restore", id }, reason: error });
    });
  }
}

const toRestore = recordReader<Restore>()(
  [
    "id backupId serviceId scope sourceDatabase sourceTable targetDatabase targetTable forced pipes status doneBytes",
    "totalBytes error notes createdAt finishedAt",
  ],
  { forced: readFlag, notes: readPlainJson },
);
const restores = { table: "restores", read: toRestore };
