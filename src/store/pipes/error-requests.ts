/**
 * Requests to replay or discard refused rows of pipes. The API adds a request; the pipes room carries it out and writes
 * its result. The newest 100 finished requests of a pipe are kept.
 */
import { randomUUID } from "node:crypto";
import { AppError, found } from "../../lib/errors.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { countRows, findRecord, listRecords, Store, updateRows } from "../database/records.ts";

/** Rows that were refused before the request, and that all given members select. */
export type ErrorSelection = {
  readonly group?: string;
  /** ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  readonly origin?: string;
  readonly rowIds?: readonly string[];
};

export type ErrorRequest = {
  readonly id: string;
  readonly pipeId: string;
  readonly kind: "replay" | "discard";
  readonly selection: ErrorSelection;
  readonly requestedBy: string;
  readonly createdAt: string;
  readonly state: "pending" | "done" | "failed";
  readonly selectedRows: number | null;
  readonly replayedRows: number | null;
  /** Rows that the replay refused again. */
  readonly refusedRows: number | null;
  /** Why the request failed. */
  readonly reason: string | null;
  readonly finishedAt: string | null;
};

/** What a replay has done; absent members do not apply to a discard. */
export type ErrorOutcome = { readonly replayedRows?: number; readonly refusedRows?: number };

const kept = 100;
/** Requests of one pipe that may wait. */
const maxPending = 20;

export class ErrorRequestStore extends Store {
  /** Throws CONFLICT when too many requests of the pipe wait. */
  async add(wanted: Pick<ErrorRequest, "pipeId" | "kind" | "selection" | "requestedBy">): Promise<ErrorRequest> {
    const { pipeId, kind, selection, requestedBy } = wanted;
    const id = randomUUID();
    return await this.db.transaction(async (tx) => {
      if ((await countRows(tx, requests.table, "WHERE pipe_id = ? AND state = 'pending'", pipeId)) >= maxPending) {
        throw new AppError("CONFLICT", `${maxPending} requests for refused rows of the pipe wait: no more may.`);
      }
      await tx.run(
        `INSERT INTO pipe_error_requests (id, pipe_id, kind, selection, requested_by, created_at, seq)
         SELECT ?, ?, ?, ?, ?, ?, coalesce(max(seq), 0) + 1 FROM pipe_error_requests WHERE pipe_id = ?`,
        ...[id, pipeId, kind, JSON.stringify(versioned(selection)), requestedBy, new Date().toISOString(), pipeId],
      );
      await tx.run(
        `DELETE FROM pipe_error_requests WHERE pipe_id = ? AND state <> 'pending' AND id NOT IN (
           SELECT id FROM pipe_error_requests WHERE pipe_id = ? AND state <> 'pending'
           ORDER BY seq DESC LIMIT ${kept})`,
        ...[pipeId, pipeId],
      );
      return (await findRecord(tx, requests, "WHERE id = ?", id)) as ErrorRequest;
    });
  }

  /** Newest first. */
  async list(pipeId: string): Promise<ErrorRequest[]> {
    return await listRecords(this.db, requests, "WHERE pipe_id = ? ORDER BY seq DESC", pipeId);
  }

  /** In the order in which they were made. */
  async pending(pipeId: string): Promise<ErrorRequest[]> {
    return await listRecords(this.db, requests, "WHERE pipe_id = ? AND state = 'pending' ORDER BY seq", pipeId);
  }

  /** Throws NOT_FOUND. */
  async find(id: string): Promise<ErrorRequest> {
    return found(await findRecord(this.db, requests, "WHERE id = ?", id), "Request", id);
  }

  /** Ids of the pipes with a pending request. */
  async pipesWithWork(): Promise<string[]> {
    const rows = await this.db.all<{ pipe_id: string }>(
      "SELECT DISTINCT pipe_id FROM pipe_error_requests WHERE state = 'pending' ORDER BY pipe_id",
    );
    return rows.map((row) => row.pipe_id);
  }

  /** Freezes the number of selected rows; returns what the first call has written. */
  async sized(id: string, rows: number): Promise<number> {
    await this.db.run(
      "UPDATE pipe_error_requests SET selected_rows = ? WHERE id = ? AND selected_rows IS NULL",
      ...[rows, id],
    );
    const one = "SELECT selected_rows AS rows FROM pipe_error_requests WHERE id = ?";
    return (await this.db.get<{ rows: number | null }>(one, id))?.rows ?? rows;
  }

  async finish(id: string, { replayedRows, refusedRows }: ErrorOutcome): Promise<void> {
    const done = { state: "done", replayedRows, refusedRows, finishedAt: new Date().toISOString() };
    await updateRows(this.db, requests.table, { id, state: "pending" }, done);
  }

  /**
   * The pending requests of the pipe cannot be carried out. Rows that were replayed stay replayed; a batch that may be
   * in the table keeps its intent, which the next request completes first. A discard that has begun is given up.
   */
  async fail(pipeId: string, reason: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      for (const id of await failErrorRequests(tx, pipeId, reason)) {
        await tx.run(
          "DELETE FROM pipe_intents WHERE pipe_id = ? AND batch_id IN (?, ?)",
          ...[pipeId, `again:${id}:discard`, `again:${id}:end`],
        );
      }
    });
  }
}

/** Ends the pending requests of the pipe, and returns their ids. */
export async function failErrorRequests(tx: Queries, pipeId: string, reason: string): Promise<string[]> {
  const failed = { state: "failed", reason, finishedAt: new Date().toISOString() };
  // Also those whose selection cannot be read.
  const ids = "SELECT id FROM pipe_error_requests WHERE pipe_id = ? AND state = 'pending'";
  const pending = (await tx.all<{ id: string }>(ids, pipeId)).map(({ id }) => id);
  for (const id of pending) await updateRows(tx, requests.table, { id }, failed);
  return pending;
}

const toRequest = recordReader<ErrorRequest>()(
  ["id pipeId kind selection requestedBy createdAt state selectedRows replayedRows refusedRows reason finishedAt"],
  { selection: (json: string) => readJson(columnShapes.errorSelection, json, "selection of refused rows") },
);
const requests = { table: "pipe_error_requests", read: toRequest };
