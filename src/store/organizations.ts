/** Organizations. */
import { randomUUID } from "node:crypto";
import type { Database } from "./database.ts";

type OrganizationRow = { readonly id: string; readonly name: string; readonly created_at: string };

export type Organization = { readonly id: string; readonly name: string; readonly createdAt: string };

export class OrganizationStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(name: string): Promise<Organization> {
    const { id, createdAt } = { id: randomUUID(), createdAt: new Date().toISOString() };
    await this.#db.run("INSERT INTO organizations (id, name, created_at) VALUES (?, ?, ?)", id, name, createdAt);
    return { id, name, createdAt };
  }

  /** The oldest organization, which is created if there is none: by one of several processes that start together. */
  async first(name: string): Promise<Organization> {
    return await this.#db.transaction(async (tx) => {
      const row = await tx.get<OrganizationRow>("SELECT * FROM organizations ORDER BY created_at LIMIT 1");
      if (row !== undefined) return toOrganization(row);
      const { id, createdAt } = { id: randomUUID(), createdAt: new Date().toISOString() };
      await tx.run("INSERT INTO organizations (id, name, created_at) VALUES (?, ?, ?)", id, name, createdAt);
      return { id, name, createdAt };
    });
  }

  async find(id: string): Promise<Organization | undefined> {
    const row = await this.#db.get<OrganizationRow>("SELECT * FROM organizations WHERE id = ?", id);
    return row && toOrganization(row);
  }

  async list(): Promise<Organization[]> {
    return (await this.#db.all<OrganizationRow>("SELECT * FROM organizations ORDER BY created_at")).map(toOrganization);
  }

  async rename(id: string, name: string): Promise<void> {
    await this.#db.run("UPDATE organizations SET name = ? WHERE id = ?", name, id);
  }
}

function toOrganization(row: OrganizationRow): Organization {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
