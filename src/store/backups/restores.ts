/** Restores, requested by the HTTP handlers and carried out by the backups room, which alone writes their progress. */
import { randomUUID } from "node:crypto";
import { addActivity } from "../access/activities.ts";
import { insertRow, readFlag, readPlainJson, recordReader } from "../database/columns.ts";
import type { Database, Queries } from "../database/database.ts";

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

export class RestoreStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** `queries`: the transaction to join. */
  async request(restore: NewRestore, queries: Queries = this.#db): Promise<string> {
    const id = randomUUID();
    await insertRow(queries, "restores", { ...restore, id, status: "queued", createdAt: new Date().toISOString() });
    return id;
  }

  async findIn(serviceId: string, id: string): Promise<Restore | undefined> {
    const one = "SELECT * FROM restores WHERE service_id = ? AND id = ?";
    const row = await this.#db.get(one, serviceId, id);
    return row && toRestore(row);
  }

  /** Newest first. */
  async listIn(serviceId: string): Promise<Restore[]> {
    const all = "SELECT * FROM restores WHERE service_id = ? ORDER BY created_at DESC, id";
    return (await this.#db.all(all, serviceId)).map(toRestore);
  }

  /** Unfinished restores, oldest first. */
  async listOpen(): Promise<Restore[]> {
    const open = "SELECT * FROM restores WHERE status IN ('queued', 'in_progress') ORDER BY created_at, id";
    return (await this.#db.all(open)).map(toRestore);
  }

  /** The unfinished restore into a new service. */
  async findUnfinishedFor(serviceId: string): Promise<Restore | undefined> {
    const row = await this.#db.get(
      "SELECT * FROM restores WHERE service_id = ? AND scope IN ('service', 'rebuild') AND status <> 'done'",
      serviceId,
    );
    return row && toRestore(row);
  }

  async begin(id: string): Promise<void> {
    await this.#db.run(
      "UPDATE restores SET status = 'in_progress', error = NULL, done_bytes = 0, finished_at = NULL WHERE id = ?",
      id,
    );
  }

  async progress(id: string, doneBytes: number, totalBytes: number): Promise<void> {
    await this.#db.run("UPDATE restores SET done_bytes = ?, total_bytes = ? WHERE id = ?", doneBytes, totalBytes, id);
  }

  /** `error` is null on success. */
  async finish(id: string, error: string | null, notes: readonly string[]): Promise<void> {
    await this.#db.transaction(async (tx) => {
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
