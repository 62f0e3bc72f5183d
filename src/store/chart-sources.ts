/** Sources of charts. */
import { randomUUID } from "node:crypto";
import { columnsOf } from "./columns.ts";
import type { Database } from "./database.ts";
import { type Limit, requireRoom } from "./limits.ts";
import { deleteVersioned, updateVersioned, type VersionedRecord } from "./versioned-rows.ts";
import type { ExpectedVersions } from "./versions.ts";

type ChartSourceRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly service_id: string;
  readonly name: string;
  readonly kind: string;
  readonly definition: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
};

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

export class ChartSourceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Throws LIMIT_REACHED. */
  async create(organizationId: string, content: ChartSourceContent, limit: Limit): Promise<ChartSource> {
    const now = new Date().toISOString();
    const source: ChartSource = {
      ...{ id: randomUUID(), organizationId, ...content, version: 1 },
      ...{ createdAt: now, updatedAt: now },
    };
    const { id, serviceId, name, kind, definition } = source;
    await this.#db.transaction(async (tx) => {
      const counting = "SELECT count(*) AS n FROM chart_sources WHERE organization_id = ?";
      const present = await tx.get<{ n: number }>(counting, organizationId);
      requireRoom(limit, "chart sources of the organization", Number(present?.n ?? 0));
      await tx.run(
        `INSERT INTO chart_sources (id, organization_id, service_id, name, kind, definition, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[id, organizationId, serviceId, name, kind, JSON.stringify(definition), now, now],
      );
    });
    return source;
  }

  async list(organizationId: string): Promise<ChartSource[]> {
    const all = "SELECT * FROM chart_sources WHERE organization_id = ? ORDER BY created_at, id";
    return (await this.#db.all<ChartSourceRow>(all, organizationId)).map(toSource);
  }

  async find(organizationId: string, id: string): Promise<ChartSource | undefined> {
    const one = "SELECT * FROM chart_sources WHERE organization_id = ? AND id = ?";
    const row = await this.#db.get<ChartSourceRow>(one, organizationId, id);
    return row && toSource(row);
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
    await updateVersioned(this.#db, sourceRow(organizationId, id), columns, expected);
    return await this.find(organizationId, id);
  }

  /** Returns whether such a source existed. Throws PRECONDITION_FAILED. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await deleteVersioned(this.#db, sourceRow(organizationId, id), expected);
  }
}

function sourceRow(organizationId: string, id: string): VersionedRecord {
  return { table: "chart_sources", what: "source", key: { organization_id: organizationId, id } };
}

function toSource(row: ChartSourceRow): ChartSource {
  return {
    id: row.id,
    organizationId: row.organization_id,
    serviceId: row.service_id,
    name: row.name,
    kind: row.kind,
    definition: JSON.parse(row.definition) as Record<string, unknown>,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
