/** What a move has made on its server: objects, and the parts of the source whose rows are there. */
import { randomUUID } from "node:crypto";
import type { Queries } from "../database/database.ts";
import { Store, updateRows } from "../database/records.ts";

export type MovedTable = { readonly database: string; readonly name: string };

export type MovedObject = MovedTable & {
  readonly kind: string;
  /** The definition at the source. */
  readonly statement: string;
  /** An empty table that the server had before the move. */
  readonly existed: boolean;
};

/** A part of a table at the source. */
export type MovePart = {
  readonly partition: string;
  readonly part: string;
  readonly rows: number;
  readonly bytes: number;
};

export type MovedPart = MovePart & {
  /** Parts that are inserted by one statement. */
  readonly unit: string;
  readonly isCopied: boolean;
};

export class ServiceMoveContents extends Store {
  async listObjects(moveId: string): Promise<MovedObject[]> {
    const rows = await this.db.all<Omit<MovedObject, "existed"> & { existed: number }>(
      "SELECT kind, database, name, statement, existed FROM service_move_objects WHERE move_id = ? ORDER BY seq",
      moveId,
    );
    return rows.map((row) => ({ ...row, existed: row.existed === 1 }));
  }

  async addObject(moveId: string, { kind, database, name, statement, existed }: MovedObject): Promise<void> {
    await this.db.run(
      `INSERT INTO service_move_objects (move_id, kind, database, name, statement, existed, seq)
       SELECT ?, ?, ?, ?, ?, ?, coalesce(max(seq), 0) + 1 FROM service_move_objects WHERE move_id = ?
       ON CONFLICT (move_id, database, name) DO UPDATE SET kind = excluded.kind, statement = excluded.statement`,
      ...[moveId, kind, database, name, statement, Number(existed), moveId],
    );
  }

  /** Forgets an object and its parts. */
  async removeObject(moveId: string, { database, name }: MovedTable): Promise<void> {
    await this.db.transaction(async (tx) => {
      for (const table of ["service_move_parts", "service_move_objects"]) {
        await tx.run(
          `DELETE FROM ${table} WHERE move_id = ? AND database = ? AND name = ?`,
          ...[moveId, database, name],
        );
      }
      await countCopied(tx, moveId);
    });
  }

  /** In the order in which they were begun. */
  async listParts(moveId: string, { database, name }: MovedTable): Promise<MovedPart[]> {
    const rows = await this.db.all<MovePart & { unit: string; copied: number }>(
      `SELECT partition_id AS partition, part, rows, bytes, unit, is_copied AS copied FROM service_move_parts
       WHERE move_id = ? AND database = ? AND name = ? ORDER BY seq`,
      ...[moveId, database, name],
    );
    return rows.map(({ copied, ...row }) => ({ ...row, isCopied: copied === 1 }));
  }

  /** Saves the parts of a unit before they are copied; returns the unit. */
  async beginUnit(moveId: string, { database, name }: MovedTable, parts: readonly MovePart[]): Promise<string> {
    const unit = randomUUID();
    await this.db.transaction(async (tx) => {
      for (const { partition, part, rows, bytes } of parts) {
        await tx.run(
          `INSERT INTO service_move_parts (move_id, database, name, partition_id, part, unit, rows, bytes, seq)
           SELECT ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(seq), 0) + 1 FROM service_move_parts WHERE move_id = ?`,
          ...[moveId, database, name, partition, part, unit, rows, bytes, moveId],
        );
      }
    });
    return unit;
  }

  async confirmUnit(moveId: string, unit: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await updateRows(tx, "service_move_parts", { moveId, unit }, { isCopied: true });
      await countCopied(tx, moveId);
    });
  }

  /** Forgets the parts of a partition, whose rows are no longer on the server. */
  async forgetPartition(moveId: string, { database, name }: MovedTable, partition: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.run(
        "DELETE FROM service_move_parts WHERE move_id = ? AND database = ? AND name = ? AND partition_id = ?",
        ...[moveId, database, name, partition],
      );
      await countCopied(tx, moveId);
    });
  }
}

async function countCopied(tx: Queries, moveId: string): Promise<void> {
  const sum = (column: string) =>
    `(SELECT coalesce(sum(${column}), 0) FROM service_move_parts WHERE move_id = ? AND is_copied = 1)`;
  await tx.run(
    `UPDATE service_moves SET copied_rows = ${sum("rows")}, copied_bytes = ${sum("bytes")}, updated_at = ? WHERE id = ?`,
    ...[moveId, moveId, new Date().toISOString(), moveId],
  );
}
