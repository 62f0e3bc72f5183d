/**
 * What pipes have made at their sources. A row is written before the object is made and deleted after the object is
 * removed, so that no kill in between loses it. A row whose pipe is deleted is a leftover: to be removed at the source.
 */
import { randomUUID } from "node:crypto";
import { recordReader } from "../database/columns.ts";
import { findRecord, listRecords, SealingStore } from "../database/records.ts";
import type { Pipe } from "./pipes.ts";

export type Leftover = {
  readonly id: string;
  readonly organizationId: string;
  readonly serviceId: string;
  readonly pipeId: string;
  readonly pipeName: string;
  readonly sourceKind: string;
  /** The kind of object: `slot`, for example. */
  readonly kind: string;
  readonly name: string;
  /** When it was recorded, which is just before it was made. */
  readonly createdAt: string;
  readonly attempts: number;
  readonly lastError: string | null;
};

/** What is read back to remove an object: the source's configuration with its secrets. */
type Config = Record<string, unknown>;

const isLeft = "NOT EXISTS (SELECT 1 FROM pipes WHERE pipes.id = leftovers.pipe_id)";

export class LeftoverStore extends SealingStore {
  /**
   * Records what the pipe is about to make, or has made. Objects on record get the configuration of now; without one
   * (its secrets cannot be opened) they keep theirs.
   */
  async record(
    pipe: Pick<Pipe, "id" | "serviceId" | "name" | "sourceKind">,
    objects: readonly { readonly kind: string; readonly name: string }[],
    config: Config | undefined,
  ): Promise<void> {
    if (objects.length === 0) return;
    const sealed = config === undefined ? null : this.sealer.seal(config, contextOf(pipe.id));
    const now = new Date().toISOString();
    await this.db.transaction(async (tx) => {
      for (const { kind, name } of objects) {
        await tx.run(
          `INSERT INTO leftovers (id, organization_id, service_id, pipe_id, pipe_name, source_kind, kind, name, config,
             created_at)
           SELECT ?, organization_id, id, ?, ?, ?, ?, ?, ?, ? FROM services WHERE id = ?
           ON CONFLICT (pipe_id, kind, name) DO UPDATE
             SET pipe_name = excluded.pipe_name, config = coalesce(excluded.config, leftovers.config)`,
          ...[randomUUID(), pipe.id, pipe.name, pipe.sourceKind, kind, name, sealed],
          ...[now, pipe.serviceId],
        );
      }
    });
  }

  /** All that the pipe has on record, whether it is there or gone. */
  async ofPipe(pipeId: string): Promise<Leftover[]> {
    return await listRecords(this.db, leftovers, "WHERE pipe_id = ? ORDER BY created_at, pipe_id, kind", pipeId);
  }

  /** All that the pipes of a service have on record, whether they are there or gone. */
  async ofService(serviceId: string): Promise<Leftover[]> {
    return await listRecords(this.db, leftovers, "WHERE service_id = ? ORDER BY created_at, pipe_id, kind", serviceId);
  }

  /** What pipes that are there have made of one kind. */
  async inUse(kind: string): Promise<Leftover[]> {
    return await listRecords(
      this.db,
      leftovers,
      `WHERE kind = ? AND NOT (${isLeft}) ORDER BY created_at, pipe_id`,
      kind,
    );
  }

  /** What pipes that are gone have left. */
  async listIn(organizationId: string): Promise<Leftover[]> {
    const left = `WHERE organization_id = ? AND ${isLeft} ORDER BY created_at, pipe_id, kind`;
    return await listRecords(this.db, leftovers, left, organizationId);
  }

  /** What is left and may be tried now; `now` in ms since 1970. */
  async due(now: number): Promise<Leftover[]> {
    const due = `WHERE ${isLeft} AND (next_try_at IS NULL OR next_try_at <= ?) ORDER BY created_at, pipe_id, kind`;
    return await listRecords(this.db, leftovers, due, new Date(now).toISOString());
  }

  /** Numbers of leftovers per organization and kind. */
  async counts(): Promise<readonly { organization: string; kind: string; count: number }[]> {
    return await this.db.all(
      `SELECT organization_id AS organization, kind, count(*) AS count FROM leftovers WHERE ${isLeft}
       GROUP BY organization_id, kind ORDER BY organization_id, kind`,
    );
  }

  /** The configuration of the source; undefined when it cannot be opened with this key. */
  async config(id: string): Promise<Config | undefined> {
    const row = await this.db.get<{ config: string | null; pipe_id: string }>(
      "SELECT config, pipe_id FROM leftovers WHERE id = ?",
      id,
    );
    return row?.config ? this.sealer.tryOpen<Config>(row.config, contextOf(row.pipe_id)) : undefined;
  }

  /** The object is gone at the source. */
  async remove(id: string): Promise<void> {
    await this.db.run("DELETE FROM leftovers WHERE id = ?", id);
  }

  /** An attempt to remove it has failed; `nextTryAt` in ms since 1970. */
  async failed(id: string, lastError: string, nextTryAt: number): Promise<void> {
    await this.db.run(
      "UPDATE leftovers SET attempts = attempts + 1, last_error = ?, next_try_at = ? WHERE id = ?",
      ...[lastError, new Date(nextTryAt).toISOString(), id],
    );
  }

  /** Leaves the object at the source for good; what was given up, or undefined when there is no such leftover. */
  async giveUp(organizationId: string, id: string): Promise<Leftover | undefined> {
    const one = `WHERE id = ? AND organization_id = ? AND ${isLeft}`;
    return await this.db.transaction(async (tx) => {
      const leftover = await findRecord(tx, leftovers, one, id, organizationId);
      if (leftover !== undefined) await tx.run("DELETE FROM leftovers WHERE id = ?", id);
      return leftover;
    });
  }
}

/** What a sealed configuration is bound to. */
function contextOf(pipeId: string): string {
  return `leftovers of ${pipeId}`;
}

const toLeftover = recordReader<Leftover>()(
  ["id organizationId serviceId pipeId pipeName sourceKind kind name createdAt attempts lastError"],
  {},
);
const leftovers = { table: "leftovers", read: toLeftover };
