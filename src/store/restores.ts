/** Restores asked for by the HTTP edge and carried out by the backups room, which alone writes their progress. */
import { randomUUID } from "node:crypto";
import type { Database, Queries } from "./database.ts";

export type RestoreStatus = "queued" | "in_progress" | "done" | "error";
/** What becomes of the pipes captured with the backup: not recreated, or recreated in this desired state. */
export type PipesChoice = "none" | "stopped" | "running";

export type RestoreRow = {
  readonly id: string;
  readonly backup_id: string;
  /** The service that receives the data. */
  readonly service_id: string;
  /** `service`: everything, into a new and empty service; `rebuild`: the same for a service that had its pipes. */
  readonly scope: "service" | "rebuild" | "database" | "table";
  readonly source_database: string | null;
  readonly source_table: string | null;
  readonly target_database: string | null;
  readonly target_table: string | null;
  readonly forced: number;
  readonly pipes: PipesChoice;
  readonly status: RestoreStatus;
  readonly done_bytes: number;
  readonly total_bytes: number;
  readonly error: string | null;
  /** JSON list of sentences for the operator. */
  readonly notes: string;
  readonly created_at: string;
  readonly finished_at: string | null;
};

export type NewRestore = Pick<RestoreRow, "backup_id" | "service_id" | "scope" | "forced" | "pipes"> &
  Partial<Pick<RestoreRow, "source_database" | "source_table" | "target_database" | "target_table">>;

export class RestoreStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** `queries`: the transaction to take part in. */
  async request(restore: NewRestore, queries: Queries = this.#db): Promise<string> {
    const row = { ...restore, id: randomUUID(), status: "queued", created_at: new Date().toISOString() };
    const columns = Object.keys(row);
    await queries.run(
      `INSERT INTO restores (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      ...Object.values(row),
    );
    return row.id;
  }

  findIn(serviceId: string, id: string): Promise<RestoreRow | undefined> {
    return this.#db.get("SELECT * FROM restores WHERE service_id = ? AND id = ?", serviceId, id);
  }

  /** Newest first. */
  listIn(serviceId: string): Promise<readonly RestoreRow[]> {
    return this.#db.all("SELECT * FROM restores WHERE service_id = ? ORDER BY created_at DESC, id", serviceId);
  }

  /** Not finished, oldest first. */
  listOpen(): Promise<readonly RestoreRow[]> {
    return this.#db.all("SELECT * FROM restores WHERE status IN ('queued', 'in_progress') ORDER BY created_at, id");
  }

  /** The restore that fills a new service, unless it is done. */
  async unfilled(serviceId: string): Promise<RestoreRow | undefined> {
    return await this.#db.get(
      "SELECT * FROM restores WHERE service_id = ? AND scope IN ('service', 'rebuild') AND status <> 'done'",
      serviceId,
    );
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

  /** `error` null: it succeeded. */
  async finish(id: string, error: string | null, notes: readonly string[]): Promise<void> {
    await this.#db.run(
      `UPDATE restores SET status = ?, error = ?, notes = ?, finished_at = ?,
         done_bytes = CASE WHEN ? IS NULL THEN total_bytes ELSE done_bytes END WHERE id = ?`,
      ...[error === null ? "done" : "error", error, JSON.stringify(notes), new Date().toISOString(), error, id],
    );
  }
}
