/** Organizations. */
import { randomUUID } from "node:crypto";
import type { Database } from "./database.ts";

export type OrganizationRow = { readonly id: string; readonly name: string; readonly created_at: string };

export class OrganizationStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(name: string): Promise<OrganizationRow> {
    const row = { id: randomUUID(), name, created_at: new Date().toISOString() };
    await this.#db.run(
      "INSERT INTO organizations (id, name, created_at) VALUES (?, ?, ?)",
      row.id,
      row.name,
      row.created_at,
    );
    return row;
  }

  find(id: string): Promise<OrganizationRow | undefined> {
    return this.#db.get("SELECT * FROM organizations WHERE id = ?", id);
  }

  list(): Promise<readonly OrganizationRow[]> {
    return this.#db.all("SELECT * FROM organizations ORDER BY created_at");
  }

  async rename(id: string, name: string): Promise<void> {
    await this.#db.run("UPDATE organizations SET name = ? WHERE id = ?", name, id);
  }
}
