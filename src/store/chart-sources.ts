/** Sources of charts. The definition is JSON text as the interface's schema made it. */
import { randomUUID } from "node:crypto";
import type { Database } from "./database.ts";
import { type Limit, requireRoom } from "./limits.ts";

export type ChartSourceRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly service_id: string;
  readonly name: string;
  readonly kind: string;
  readonly definition: string;
  readonly created_at: string;
  readonly updated_at: string;
};

type Content = Pick<ChartSourceRow, "service_id" | "name" | "kind" | "definition">;

export class ChartSourceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Throws LIMIT_REACHED. */
  async create(organizationId: string, content: Content, limit: Limit): Promise<ChartSourceRow> {
    const now = new Date().toISOString();
    const row = { id: randomUUID(), organization_id: organizationId, ...content, created_at: now, updated_at: now };
    await this.#db.transaction(async (tx) => {
      const counting = "SELECT count(*) AS n FROM chart_sources WHERE organization_id = ?";
      const present = await tx.get<{ n: number }>(counting, organizationId);
      requireRoom(limit, "chart sources of the organization", Number(present?.n ?? 0));
      await tx.run(
        `INSERT INTO chart_sources (id, organization_id, service_id, name, kind, definition, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[row.id, row.organization_id, row.service_id, row.name, row.kind, row.definition, now, now],
      );
    });
    return row;
  }

  list(organizationId: string): Promise<readonly ChartSourceRow[]> {
    return this.#db.all(
      "SELECT * FROM chart_sources WHERE organization_id = ? ORDER BY created_at, id",
      organizationId,
    );
  }

  find(organizationId: string, id: string): Promise<ChartSourceRow | undefined> {
    return this.#db.get("SELECT * FROM chart_sources WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  /** The new row, or undefined when there is none with this id. */
  async replace(organizationId: string, id: string, content: Content): Promise<ChartSourceRow | undefined> {
    await this.#db.run(
      `UPDATE chart_sources SET service_id = ?, name = ?, kind = ?, definition = ?, updated_at = ?
       WHERE organization_id = ? AND id = ?`,
      ...[content.service_id, content.name, content.kind, content.definition, new Date().toISOString()],
      ...[organizationId, id],
    );
    return await this.find(organizationId, id);
  }

  /** Whether there was such a source. */
  async delete(organizationId: string, id: string): Promise<boolean> {
    return (
      (await this.#db.run("DELETE FROM chart_sources WHERE organization_id = ? AND id = ?", organizationId, id)) > 0
    );
  }
}
