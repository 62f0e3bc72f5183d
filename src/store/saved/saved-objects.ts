/** Queries, charts, dashboards, drafts and saved searches that organizations keep, as whole documents. */
import { randomUUID } from "node:crypto";
import type { savedObjectKinds } from "../../api/saved-objects.ts";
import { columnsOf, insertRow, readPlainJson, recordReader } from "../database/columns.ts";
import type { Database, StoredColumns } from "../database/database.ts";
import { type Limit, requireRoomForObject } from "../database/limits.ts";
import { countRows, findRecord, type ListPart, listRecords, Store } from "../database/records.ts";
import {
  deleteVersioned,
  type ExpectedVersions,
  updateVersioned,
  type VersionedRecord,
} from "../database/versioned-rows.ts";

/** Those of the console, and the saved searches and dashboards of the observability API. */
export type SavedObjectKind = (typeof savedObjectKinds)[number] | "savedSearch" | "tiledDashboard";

export type SavedObject<Kind extends SavedObjectKind = SavedObjectKind> = {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  /** As the API's schema has parsed it. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Raised by every change. */
  readonly version: number;
  readonly createdBy: string;
  readonly updatedBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type SavedObjectSummary<Kind extends SavedObjectKind = SavedObjectKind> = Omit<SavedObject<Kind>, "content">;

/** Whose objects: those of the organization, and the drafts of the key. */
export type SavedObjectReader = { readonly organizationId: string; readonly keyId?: string };

const summaryMembers = "id kind name version createdBy updatedBy createdAt updatedAt";
const toSummary = recordReader<SavedObjectSummary>()([summaryMembers], {});
const toObject = recordReader<SavedObject>()([summaryMembers, "content"], { content: readPlainJson });

export class SavedObjectStore<Kind extends SavedObjectKind> extends Store {
  readonly #visible: string;
  readonly #objects = { table: "saved_objects", read: toObject as (row: StoredColumns) => SavedObject<Kind> };

  /** The store of these kinds: objects of other kinds do not exist for it. */
  constructor(db: Database, kinds: readonly Kind[]) {
    super(db);
    const list = kinds.map((kind) => `'${kind}'`).join(", ");
    this.#visible = `organization_id = ? AND (private_to IS NULL OR private_to = ?) AND kind IN (${list})`;
  }

  /** A draft is private to the key. `by` is the name of the key. Throws LIMIT_REACHED. */
  async create(
    { organizationId, keyId }: SavedObjectReader,
    wanted: Pick<SavedObject<Kind>, "kind" | "name" | "content">,
    by: string,
    limit: Limit,
  ): Promise<SavedObject<Kind>> {
    const now = new Date().toISOString();
    const times = { createdAt: now, updatedAt: now };
    const object = { id: randomUUID(), ...wanted, version: 1, createdBy: by, updatedBy: by, ...times };
    const privateTo = wanted.kind === "draft" ? keyId : null;
    await this.db.transaction(async (tx) => {
      await requireRoomForObject(tx, organizationId, limit);
      await insertRow(tx, "saved_objects", { ...object, organizationId, privateTo });
    });
    return object;
  }

  /** Lists objects by name, without contents. */
  async summaries(reader: SavedObjectReader, kind?: Kind): Promise<SavedObjectSummary<Kind>[]> {
    const ofKind = kind === undefined ? "" : " AND kind = ?";
    const rows = await this.db.all(
      `SELECT id, kind, name, version, created_by, updated_by, created_at, updated_at FROM saved_objects
       WHERE ${this.#visible}${ofKind} ORDER BY name, id`,
      ...[...valuesOf(reader), ...(kind === undefined ? [] : [kind])],
    );
    return rows.map(toSummary) as SavedObjectSummary<Kind>[];
  }

  /** Oldest first. */
  async list(reader: SavedObjectReader, { limit, offset }: ListPart): Promise<SavedObject<Kind>[]> {
    const page = `WHERE ${this.#visible} ORDER BY created_at, id LIMIT ? OFFSET ?`;
    return await listRecords(this.db, this.#objects, page, ...valuesOf(reader), limit, offset);
  }

  async count(reader: SavedObjectReader): Promise<number> {
    return await countRows(this.db, "saved_objects", `WHERE ${this.#visible}`, ...valuesOf(reader));
  }

  async find(reader: SavedObjectReader, id: string): Promise<SavedObject<Kind> | undefined> {
    return await findRecord(this.db, this.#objects, `WHERE ${this.#visible} AND id = ?`, ...valuesOf(reader), id);
  }

  /** Returns whether there is such an object. `by` is the name of the key. Throws PRECONDITION_FAILED. */
  async change(
    reader: SavedObjectReader,
    id: string,
    { name, content }: { readonly name?: string | undefined; readonly content?: object | undefined },
    by: string,
    expected: ExpectedVersions,
  ): Promise<boolean> {
    // Nothing changes who sees an object: between both statements it can only be deleted.
    if ((await this.find(reader, id)) === undefined) return false;
    const ofChange = columnsOf({ updatedBy: by, updatedAt: new Date().toISOString() });
    return await updateVersioned(this.db, rowOf(reader, id), columnsOf({ name, content }), expected, ofChange);
  }

  /** Returns whether there was such an object. Throws PRECONDITION_FAILED. */
  async delete(reader: SavedObjectReader, id: string, expected?: ExpectedVersions): Promise<boolean> {
    if ((await this.find(reader, id)) === undefined) return false;
    return await deleteVersioned(this.db, rowOf(reader, id), expected);
  }
}

function valuesOf({ organizationId, keyId }: SavedObjectReader) {
  return [organizationId, keyId ?? null];
}

function rowOf({ organizationId }: SavedObjectReader, id: string): VersionedRecord {
  return { table: "saved_objects", what: "document", key: { organization_id: organizationId, id } };
}
