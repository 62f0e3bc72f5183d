/** Organizations. */
import { randomUUID } from "node:crypto";
import { insertRow, recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { findRecord, listRecords, Store } from "../database/records.ts";

export type Organization = { readonly id: string; readonly name: string; readonly createdAt: string };

export class OrganizationStore extends Store {
  async create(name: string): Promise<Organization> {
    return await add(this.db, name);
  }

  /** The oldest organization, which is created if there is none: by one of several processes that start together. */
  async first(name: string): Promise<Organization> {
    return await this.db.transaction(async (tx) => {
      return (await findRecord(tx, organizations, "ORDER BY created_at LIMIT 1")) ?? (await add(tx, name));
    });
  }

  async find(id: string): Promise<Organization | undefined> {
    return await findRecord(this.db, organizations, "WHERE id = ?", id);
  }

  async list(): Promise<Organization[]> {
    return await listRecords(this.db, organizations, "ORDER BY created_at");
  }

  async rename(id: string, name: string): Promise<void> {
    await this.db.run("UPDATE organizations SET name = ? WHERE id = ?", name, id);
  }
}

async function add(db: Queries, name: string): Promise<Organization> {
  const organization = { id: randomUUID(), name, createdAt: new Date().toISOString() };
  await insertRow(db, "organizations", organization);
  return organization;
}

const organizations = { table: "organizations", read: recordReader<Organization>()(["id name createdAt"], {}) };
