/** Organizations. */
import { randomUUID } from "node:crypto";
import { insertRow, recordReader } from "../database/columns.ts";
import type { Database, Queries } from "../database/database.ts";

export type Organization = { readonly id: string; readonly name: string; readonly createdAt: string };

export class OrganizationStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(name: string): Promise<Organization> {
    return await add(this.#db, name);
  }

  /** The oldest organization, which is created if there is none: by one of several processes that start together. */
  async first(name: string): Promise<Organization> {
    return await this.#db.transaction(async (tx) => {
      const row = await tx.get("SELECT * FROM organizations ORDER BY created_at LIMIT 1");
      if (row !== undefined) return toOrganization(row);
      return await add(tx, name);
    });
  }

  async find(id: string): Promise<Organization | undefined> {
    const row = await this.#db.get("SELECT * FROM organizations WHERE id = ?", id);
    return row && toOrganization(row);
  }

  async list(): Promise<Organization[]> {
    return (await this.#db.all("SELECT * FROM organizations ORDER BY created_at")).map(toOrganization);
  }

  async rename(id: string, name: string): Promise<void> {
    await this.#db.run("UPDATE organizations SET name = ? WHERE id = ?", name, id);
  }
}

async function add(db: Queries, name: string): Promise<Organization> {
  const organization = { id: randomUUID(), name, createdAt: new Date().toISOString() };
  await insertRow(db, "organizations", organization);
  return organization;
}

const toOrganization = recordReader<Organization>()(["id name createdAt"], {});
