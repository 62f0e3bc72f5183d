/** Sources of charts. */
import { randomUUID } from "node:crypto";
import { columnsOf, insertRow, readPlainJson, recordReader } from "../database/columns.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { countRows, findRecord, listRecords, Store } from "../database/records.ts";
import {
  deleteVersioned,
  type ExpectedVersions,
  updateVersioned,
  type VersionedRecord,
} from "../database/versioned-rows.ts";

export type ChartSource = {
  readonly id: string;
  readonly organizationId: string;
  readonly serviceId: string;
  readonly name: string;
  readonly kind: string;
  /** As parsed by the API's schema. */
  readonly definition: Readonly<Record<string, unknown>>;
  /** Raised by every replacement. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type ChartSourceContent = Pick<ChartSource, "serviceId" | "name" | "kind" | "definition">;

export class ChartSourceStore extends Store {
  /** Throws LIMIT_REACHED. */
  async create(organizationId: string, content: ChartSourceContent, limit: Limit): Promise<ChartSource> {
    const now = new Date().toISOString();
    const source: ChartSource = {
      ...{ id: randomUUID(), organizationId, ...content, version: 1 },
      ...{ createdAt: now, updatedAt: now },
    };
    await this.db.transaction(async (tx) => {
      const present = await countRows(tx, "chart_sources", "WHERE organization_id = ?", organizationId);
      requireRoom(limit, "chart sources of the organization", present);
      await insertRow(tx, "chart_sources", source);
    });
    return source;
  }

  async list(organizationId: string): Promise<ChartSource[]> {
    return await listRecords(this.db, sources, "WHERE organization_id = ? ORDER BY created_at, id", organizationId);
  }

  async find(organizationId: string, id: string): Promise<ChartSource | undefined> {
    return await findRecord(this.db, sources, "WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  /** Returns the new source, or undefined when there is none with this id. Throws PRECONDITION_FAILED. */
  async replace(
    organizationId: string,
    id: string,
    content: ChartSourceContent,
    expected?: ExpectedVersions,
  ): Promise<ChartSource | undefined> {
    const { serviceId, name, kind, definition } = content;
    const columns = columnsOf({ serviceId, name, kind, definition, updatedAt: new Date().toISOString() });
    await updateVersioned(this.db, sourceRow(organizationId, id), columns, expected);
    return await this.find(organizationId, id);
  }

  /** Returns whether such a source existed. Throws PRECONDITION_FAILED. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await deleteVersioned(this.db, sourceRow(organizationId, id), expected);
  }
}

function sourceRow(organizationId: string, id: string): VersionedRecord {
  return { table: "chart_sources", what: "source", key: { organization_id: organizationId, id } };
}

const toSource = recordReader<ChartSource>()(
  ["id organizationId serviceId name kind definition version createdAt updatedAt"],
  { definition: readPlainJson },
);
const sources = { table: "chart_sources", read: toSource };
