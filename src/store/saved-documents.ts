/** Saved searches and dashboards of the observability API: whole documents, beside what the console keeps. */
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../lib/json.ts";
import { columnsOf } from "./columns.ts";
import type { Database } from "./database.ts";
import { type Limit, requireRoomForObject } from "./limits.ts";
import { deleteVersioned, updateVersioned, type VersionedRecord } from "./versioned-rows.ts";
import type { ExpectedVersions } from "./versions.ts";

export type SavedDocumentKind = "savedSearch" | "tiledDashboard";

export type SavedDocument = {
  readonly id: string;
  readonly name: string;
  /** As the API's schema has parsed it. */
  readonly content: JsonObject;
  /** Raised by every replacement. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

type DocumentRow = {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
};

const columns = "id, name, content, version, created_at, updated_at";
const owned = "organization_id = ? AND kind = ?";

export class SavedDocumentStore {
  readonly #db: Database;
  readonly #kind: SavedDocumentKind;

  constructor(db: Database, kind: SavedDocumentKind) {
    this.#db = db;
    this.#kind = kind;
  }

  /** Counts as a saved object of the organization. Throws LIMIT_REACHED. */
  async create(organizationId: string, content: JsonObject, by: string, limit: Limit): Promise<SavedDocument> {
    const now = new Date().toISOString();
    const name = String(content.name);
    const document = { id: randomUUID(), name, content, version: 1, createdAt: now, updatedAt: now };
    await this.#db.transaction(async (tx) => {
      await requireRoomForObject(tx, organizationId, limit);
      await tx.run(
        `INSERT INTO saved_objects (organization_id, kind, created_by, updated_by, ${columns})
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[organizationId, this.#kind, by, by, document.id, name, JSON.stringify(content), 1, now, now],
      );
    });
    return document;
  }

  /** Oldest first. */
  async list(
    organizationId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<SavedDocument[]> {
    const rows = await this.#db.all<DocumentRow>(
      `SELECT ${columns} FROM saved_objects WHERE ${owned} ORDER BY created_at, id LIMIT ? OFFSET ?`,
      ...[organizationId, this.#kind, limit, offset],
    );
    return rows.map(toDocument);
  }

  async count(organizationId: string): Promise<number> {
    const counting = `SELECT count(*) AS n FROM saved_objects WHERE ${owned}`;
    return Number((await this.#db.get<{ n: number }>(counting, organizationId, this.#kind))?.n ?? 0);
  }

  async find(organizationId: string, id: string): Promise<SavedDocument | undefined> {
    const one = `SELECT ${columns} FROM saved_objects WHERE ${owned} AND id = ?`;
    const row = await this.#db.get<DocumentRow>(one, organizationId, this.#kind, id);
    return row && toDocument(row);
  }

  /** Returns the new document, or undefined when there is none with this id. Throws PRECONDITION_FAILED. */
  async replace(
    organizationId: string,
    id: string,
    content: JsonObject,
    by: string,
    expected?: ExpectedVersions,
  ): Promise<SavedDocument | undefined> {
    const columns = columnsOf({
      ...{ name: String(content.name), content },
      ...{ updatedBy: by, updatedAt: new Date().toISOString() },
    });
    await updateVersioned(this.#db, this.#row(organizationId, id), columns, expected);
    return await this.find(organizationId, id);
  }

  /** Returns whether there was such a document. Throws PRECONDITION_FAILED. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await deleteVersioned(this.#db, this.#row(organizationId, id), expected);
  }

  #row(organizationId: string, id: string): VersionedRecord {
    const key = { organization_id: organizationId, kind: this.#kind, id };
    return { table: "saved_objects", what: "document", key };
  }
}

function toDocument(row: DocumentRow): SavedDocument {
  return {
    id: row.id,
    name: row.name,
    content: JSON.parse(row.content) as JsonObject,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
