/** Values that clients of the ClickHouse Cloud API set and read again, although nothing depends on them. */
import type { JsonObject } from "../../lib/json.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { Store } from "../database/records.ts";

type MembersRow = { readonly object_id: string; readonly members: string };

export class CloudMemberStore extends Store {
  /** By the id of a service or pipe; objects without values are absent. */
  async find(ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db.all<MembersRow>(
      `SELECT object_id, members FROM cloud_members WHERE object_id IN (${ids.map(() => "?").join(", ")})`,
      ...ids,
    );
    return new Map(rows.map((row) => [row.object_id, membersOf(row)]));
  }

  /** Replaces the values of the same paths; null removes one. The object must exist. */
  async keep({ kind, id }: { readonly kind: "service" | "pipe"; readonly id: string }, values: JsonObject) {
    await this.db.transaction(async (tx) => {
      const one = "SELECT object_id, members FROM cloud_members WHERE object_id = ?";
      const row = await tx.get<MembersRow>(one, id);
      const former = row === undefined ? {} : membersOf(row);
      const kept = Object.entries({ ...former, ...values }).filter(([, value]) => value !== null);
      await tx.run("DELETE FROM cloud_members WHERE object_id = ?", id);
      if (kept.length === 0) return;
      const stored = JSON.stringify(versioned(Object.fromEntries(kept)));
      await tx.run(
        "INSERT INTO cloud_members (object_id, service_id, pipe_id, members) VALUES (?, ?, ?, ?)",
        ...[id, kind === "service" ? id : null, kind === "pipe" ? id : null, stored],
      );
    });
  }
}

function membersOf({ members }: MembersRow): JsonObject {
  const { v: _, ...values } = readJson(columnShapes.cloudMembers, members, "members of the ClickHouse Cloud API");
  return values;
}
