/**
 * Pipes with their positions as plain values: captured with a backup, and written again for a restored service. Secrets
 * stay encrypted; they can be decrypted only with the key of the original installation.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { insertRow } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { SealingStore } from "../database/records.ts";

const text = z.string();

export const pipeSnapshotSchema = z.object({
  id: text,
  name: text,
  source_kind: text,
  source: text,
  source_secrets: text.nullable(),
  destination: text,
  roles: text.nullable(),
  field_mappings: text,
  scaling: text,
  settings: text,
  epoch: z.int(),
  checkpoints: z.array(z.object({ lane: text, checkpoint: text })),
  marks: z.array(z.object({ mark_key: text, mark: text })),
  counters: z.array(z.object({ name: text, value: z.number() })),
  /** Batches that may or may not be in the tables: then the positions are not exact. */
  unsettled: z.array(text),
});
export type PipeSnapshot = z.output<typeof pipeSnapshotSchema>;

/** The source of a captured pipe, without its secrets. */
export function sourceOf(pipe: PipeSnapshot): {
  readonly kind: string;
  readonly source: Readonly<Record<string, { readonly queueUrl?: string } | undefined>>;
} {
  return { kind: pipe.source_kind, source: JSON.parse(pipe.source) };
}

/** `against`: why it must not continue from its captured position. */
export type RestoredPipe = { readonly id: string; readonly name: string; readonly against: string | undefined };

const definition = [
  ...["name", "source_kind", "source", "source_secrets", "destination", "roles", "field_mappings", "scaling"],
  "settings",
] as const;

export class PipeSnapshots extends SealingStore {
  /** Ids of the service's pipes, and whether a worker is desired: to load, or to replay refused rows. */
  async listIn(serviceId: string): Promise<{ id: string; running: boolean }[]> {
    const rows = await this.db.all<{ id: string; running: number }>(
      `SELECT id, CASE WHEN desired_state = 'running' OR EXISTS (
         SELECT 1 FROM pipe_error_requests WHERE pipe_id = pipes.id AND state = 'pending') THEN 1 ELSE 0 END AS running
       FROM pipes WHERE service_id = ? AND desired_state <> 'deleted'`,
      serviceId,
    );
    return rows.map((row) => ({ id: row.id, running: row.running === 1 }));
  }

  /** All pipes of a service with their positions, at one moment. */
  capture(serviceId: string): Promise<PipeSnapshot[]> {
    return this.db.transaction(async (tx) => {
      const pipes = await tx.all<Record<string, string | number | null> & { id: string }>(
        `SELECT id, epoch, ${definition.join(", ")} FROM pipes WHERE service_id = ? AND desired_state <> 'deleted'
         ORDER BY created_at, id`,
        serviceId,
      );
      const snapshots: unknown[] = [];
      for (const pipe of pipes) {
        const of = <Row>(columns: string, table: string) =>
          tx.all<Row>(`SELECT ${columns} FROM ${table} WHERE pipe_id = ?`, pipe.id);
        const intents = await of<{ batch_id: string }>("batch_id", "pipe_intents");
        snapshots.push({
          ...pipe,
          checkpoints: await of("lane, checkpoint", "pipe_checkpoints"),
          marks: await of("mark_key, mark", "pipe_marks"),
          counters: await of("name, value", "pipe_counters"),
          unsettled: intents.map((row) => row.batch_id),
        });
      }
      return pipeSnapshotSchema.array().parse(snapshots);
    });
  }

  /** The databases that the service's pipes write. */
  async databasesOf(serviceId: string): Promise<string[]> {
    const rows = await this.db.all<{ destination: string }>(
      "SELECT destination FROM pipes WHERE service_id = ? AND desired_state <> 'deleted'",
      serviceId,
    );
    const names = rows.map((row) => (JSON.parse(row.destination) as { database?: string }).database);
    return [...new Set(names.filter((name) => name !== undefined))];
  }

  /**
   * Writes the pipes into another service under new ids. Every batch's token derives from id and epoch, so no token of
   * the original suppresses a row of the copy. Repeating the call after a crash creates no second copy. Pipes are
   * created stopped, unless `run` is set and `refusal` returns undefined; a pipe whose secrets cannot be decrypted here
   * is always refused.
   */
  recreate(
    serviceId: string,
    snapshots: readonly PipeSnapshot[],
    run: boolean,
    refusal: (pipe: PipeSnapshot) => string | undefined,
  ): Promise<RestoredPipe[]> {
    return this.db.transaction(async (tx) => {
      await tx.run("DELETE FROM pipes WHERE service_id = ?", serviceId);
      const made: RestoredPipe[] = [];
      for (const pipe of snapshots) {
        const id = randomUUID();
        const against = this.against(pipe, refusal);
        const starts = run && against === undefined;
        const now = new Date().toISOString();
        await insertRow(tx, "pipes", {
          ...{ ...pick(pipe), id, serviceId, source_secrets: this.#reseal(pipe, id) },
          desiredState: starts ? "running" : "stopped",
          state: starts ? "Provisioning" : "Stopped",
          lastError: against ?? null,
          epoch: pipe.epoch + 1,
          ...{ createdAt: now, updatedAt: now },
        });
        await writePositions(tx, id, pipe);
        made.push({ id, name: pipe.name, against });
      }
      return made;
    });
  }

  /**
   * Resets the positions of a service's own pipes to those of a backup, under a new epoch; pipes younger than the
   * backup start over.
   */
  rewind(serviceId: string, snapshots: readonly PipeSnapshot[]): Promise<void> {
    return this.db.transaction(async (tx) => {
      const pipes = await tx.all<{ id: string }>("SELECT id FROM pipes WHERE service_id = ?", serviceId);
      for (const { id } of pipes) {
        for (const table of ["pipe_checkpoints", "pipe_intents", "pipe_marks", "pipe_counters"]) {
          await tx.run(`DELETE FROM ${table} WHERE pipe_id = ?`, id);
        }
        const snapshot = snapshots.find((candidate) => candidate.id === id);
        if (snapshot !== undefined) await writePositions(tx, id, snapshot);
        await tx.run("UPDATE pipes SET epoch = epoch + 1, generation = generation + 1 WHERE id = ?", id);
      }
    });
  }

  /** Why a recreated pipe would be stopped; undefined when it may continue. */
  against(pipe: PipeSnapshot, refusal: (pipe: PipeSnapshot) => string | undefined): string | undefined {
    if (!this.#isLost(pipe)) return refusal(pipe);
    return "Its secrets cannot be opened with this installation's key: set them again, then start it.";
  }

  /** Encrypted by another installation, or with a key that has changed since. */
  #isLost({ source_secrets, id }: PipeSnapshot): boolean {
    return source_secrets !== null && this.sealer.tryOpen(source_secrets, id) === undefined;
  }

  #reseal(pipe: PipeSnapshot, id: string): string | null {
    const secrets = pipe.source_secrets === null ? undefined : this.sealer.tryOpen(pipe.source_secrets, pipe.id);
    return secrets === undefined ? null : this.sealer.seal(secrets, id);
  }
}

function pick(pipe: PipeSnapshot) {
  return Object.fromEntries(definition.map((name) => [name, pipe[name]])) as Pick<
    PipeSnapshot,
    (typeof definition)[number]
  >;
}

async function writePositions(tx: Queries, id: string, pipe: PipeSnapshot): Promise<void> {
  const now = new Date().toISOString();
  for (const row of pipe.checkpoints) await insertRow(tx, "pipe_checkpoints", { pipeId: id, ...row, updatedAt: now });
  for (const row of pipe.marks) await insertRow(tx, "pipe_marks", { pipeId: id, ...row });
  for (const row of pipe.counters) await insertRow(tx, "pipe_counters", { pipeId: id, ...row });
}
