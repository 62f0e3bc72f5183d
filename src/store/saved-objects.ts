/** Queries, charts, dashboards and drafts of organizations. */
import { randomUUID } from "node:crypto";
import { savedObjectKinds } from "../api/saved-objects.ts";
import { columnsOf } from "./columns.ts";
import type { Database } from "./database.ts";
import { type Limit, requireRoomForObject } from "./limits.ts";

export type SavedObjectKind = (typeof savedObjectKinds)[number];

export type SavedObjectSummary = {
  readonly id: string;
  readonly kind: SavedObjectKind;
  readonly name: string;
  readonly version: number;
  readonly createdBy: string;
  readonly updatedBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type SavedObject = SavedObjectSummary & { readonly content: Readonly<Record<string, unknown>> };

/** Whose objects: those of the organization that the key may see. */
export type SavedObjectReader = { readonly organizationId: string; readonly keyId: string };

type SummaryRow = {
  readonly id: string;
  readonly kind: SavedObjectKind;
  readonly name: string;
  readonly version: number;
  readonly created_by: string;
  readonly updated_by: string;
  readonly created_at: string;
  readonly updated_at: string;
};

const summaryColumns = "id, kind, name, version, created_by, updated_by, created_at, updated_at";
/** Not the documents of the observability API, which have a store of their own. */
const kinds = savedObjectKinds.map((kind) => `'${kind}'`).join(", ");
const visible = `organization_id = ? AND (private_to IS NULL OR private_to = ?) AND kind IN (${kinds})`;

export class SavedObjectStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** A draft is private to the key. Throws LIMIT_REACHED. */
  async create(
    { organizationId, keyId }: SavedObjectReader,
    wanted: Pick<SavedObject, "kind" | "name" | "content" | "createdBy">,
    limit: Limit,
  ): Promise<SavedObject> {
    const now = new Date().toISOString();
    const object = {
      id: randomUUID(),
      ...wanted,
      version: 1,
      updatedBy: wanted.createdBy,
      createdAt: now,
      updatedAt: now,
    };
    await this.#db.transaction(async (tx) => {
      await requireRoomForObject(tx, organizationId, limit);
      await tx.run(
        `INSERT INTO saved_objects (organization_id, private_to, content, ${summaryColumns})
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[organizationId, wanted.kind === "draft" ? keyId : null, JSON.stringify(wanted.content)],
        ...[object.id, object.kind, object.name, 1, object.createdBy, object.updatedBy, now, now],
      );
    });
    return object;
  }

  /** By name, without contents. */
  async list({ organizationId, keyId }: SavedObjectReader, kind?: SavedObjectKind): Promise<SavedObjectSummary[]> {
    const rows = await this.#db.all<SummaryRow>(
      `SELECT ${summaryColumns} FROM saved_objects WHERE ${visible} AND (CAST(? AS TEXT) IS NULL OR kind = ?) ORDER BY name, id`,
      ...[organizationId, keyId, kind ?? null, kind ?? null],
    );
    return rows.map(toSummary);
  }

  async find({ organizationId, keyId }: SavedObjectReader, id: string): Promise<SavedObject | undefined> {
    const row = await this.#db.get<SummaryRow & { content: string }>(
      `SELECT ${summaryColumns}, content FROM saved_objects WHERE ${visible} AND id = ?`,
      ...[organizationId, keyId, id],
    );
    return row && { ...toSummary(row), content: JSON.parse(row.content) as Record<string, unknown> };
  }

  /** Changes the object if it still has this version; false when it has another one, or is gone. */
  async change(
    { organizationId, keyId }: SavedObjectReader,
    id: string,
    version: number,
    change: { readonly name?: string | undefined; readonly content?: object | undefined; readonly updatedBy: string },
  ): Promise<boolean> {
    const { name, updatedBy } = change;
    const content = change.content === undefined ? undefined : JSON.stringify(change.content);
    const columns = columnsOf({ name, content, updatedBy, updatedAt: new Date().toISOString() });
    const sets = Object.keys(columns).map((column) => `${column} = ?`);
    const changed = await this.#db.run(
      `UPDATE saved_objects SET ${sets.join(", ")}, version = version + 1 WHERE ${visible} AND id = ? AND version = ?`,
      ...[...Object.values(columns), organizationId, keyId, id, version],
    );
    return changed > 0;
  }

  /** Returns whether there was such an object. */
  async delete({ organizationId, keyId }: SavedObjectReader, id: string): Promise<boolean> {
    const one = `DELETE FROM saved_objects WHERE ${visible} AND id = ?`;
    return (await this.#db.run(one, organizationId, keyId, id)) > 0;
  }
}

function toSummary(row: SummaryRow): SavedObjectSummary {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    version: row.version,
    createdBy: row.created_by,
    updatedBy: row.updated_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
