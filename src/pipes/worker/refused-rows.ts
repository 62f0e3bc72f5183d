/** The refused rows of a pipe as its worker reads and marks them. Every statement may be repeated. */
import { literal } from "../../clickhouse/sql.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Destination, Insert, KeptRow, Query, RefusedReplays } from "../../sources/contract/source.ts";
import type { ErrorRequest } from "../../store/pipes/error-requests.ts";
import type { ReplayedRows } from "../error-requests.ts";
import { errorTableSql, groupSql } from "../error-table.ts";

/** Limits of one batch. */
const batchRows = 2_000;
const batchBytes = 8 * 2 ** 20;
/** Different reasons that one statement writes; further ones become a general sentence. */
const maxReasons = 50;
const maxReasonLength = 500;
const generalReason = "The engine cannot read this row as the columns of the pipe ask for.";

/** Waits until the parts are rewritten. */
const statementSettings = { mutations_sync: 1, max_query_size: 2 ** 24 };

/** Position of a row in the order of the table. */
export type RowPosition = { readonly ms: string; readonly id: string };

export type RefusedRowsAccess = Pick<RefusedRows, "count" | "next" | "read" | "mark" | "remove" | "outcome">;

export class RefusedRows {
  readonly #pipeId: string;
  readonly #table: string;
  readonly #query: Query;

  constructor(pipeId: string, destination: Destination, query: Query) {
    this.#pipeId = pipeId;
    this.#table = errorTableSql(destination);
    this.#query = query;
  }

  /** Number of rows that the request selects and that are not in the destination table. */
  async count(request: ErrorRequest): Promise<number> {
    const sql = `SELECT sum(rows) AS total FROM ${this.#table} WHERE ${this.#selected(request)}`;
    const [found] = await this.#query(sql);
    return Number(found?.total ?? 0);
  }

  /** The ids of the next rows that the request replays and has not tried yet, in order; empty at the end. */
  async next(
    request: ErrorRequest,
    after: RowPosition | undefined,
  ): Promise<{ ids: string[]; last: RowPosition | undefined }> {
    const beyond =
      after === undefined ? "" : `AND (toUnixTimestamp64Milli(time), row_id) > (${after.ms}, ${literal(after.id)})`;
    const found = await this.#query(
      `SELECT row_id AS id, toUnixTimestamp64Milli(time) AS ms, length(raw) AS bytes FROM ${this.#table}
       WHERE ${this.#selected(request)} AND facts != '' AND request_id != ${literal(request.id)} ${beyond}
       ORDER BY time, row_id LIMIT ${batchRows}`,
    );
    let bytes = 0;
    const end = found.findIndex((row, at) => {
      bytes += Number(row.bytes);
      return at > 0 && bytes > batchBytes;
    });
    const taken = end < 0 ? found : found.slice(0, end);
    const last = taken.at(-1);
    return {
      ids: taken.map(({ id }) => String(id)),
      last: last === undefined ? undefined : { ms: String(last.ms), id: String(last.id) },
    };
  }

  /** The rows with these ids, in this order; those that the table no longer has are missing. */
  async read(ids: readonly string[]): Promise<KeptRow[]> {
    if (ids.length === 0) return [];
    const found = await this.#query(
      `SELECT row_id AS id, raw, raw_format, facts FROM ${this.#table} WHERE ${this.#among(ids)}`,
      { settings: { max_query_size: 2 ** 24 } },
    );
    const rows = new Map(found.map((row) => [String(row.id), row]));
    return ids.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [keptRowOf(id, row)];
    });
  }

  /** The statement that records what became of the rows. */
  mark(
    { request, by, at, rows }: Pick<ReplayedRows, "request" | "by" | "at" | "rows">,
    refused: RefusedReplays,
  ): Insert {
    const time = `fromUnixTimestamp64Milli(toInt64(${Math.trunc(at)}))`;
    const again = refused.size === 0 ? "0" : `row_id IN (${list([...refused.keys()])})`;
    const changes = [
      `request_id = ${literal(request)}`,
      `replayed_at = if(${again}, replayed_at, ${time})`,
      `replayed_by = if(${again}, replayed_by, ${literal(by)})`,
      ...(refused.size === 0 ? [] : [`tried_at = if(${again}, ${time}, tried_at)`, `message = ${messageSql(refused)}`]),
    ];
    const sql = `ALTER TABLE ${this.#table} UPDATE ${changes.join(", ")} WHERE ${this.#among(rows)}`;
    return { sql, settings: statementSettings, key: "mark" };
  }

  /** The statement that deletes what the request selects. */
  remove(request: ErrorRequest): Insert {
    const sql = `ALTER TABLE ${this.#table} DELETE WHERE ${this.#selected(request)}`;
    return { sql, settings: statementSettings, key: "remove" };
  }

  /** What the request's replays have done so far. */
  async outcome({ id }: ErrorRequest): Promise<{ replayedRows: number; refusedRows: number }> {
    const [found] = await this.#query(
      `SELECT countIf(replayed_at IS NOT NULL) AS replayed, countIf(replayed_at IS NULL) AS refused
       FROM ${this.#table} WHERE pipe_id = ${literal(this.#pipeId)} AND request_id = ${literal(id)}`,
    );
    return { replayedRows: Number(found?.replayed ?? 0), refusedRows: Number(found?.refused ?? 0) };
  }

  #among(ids: readonly string[]): string {
    return `pipe_id = ${literal(this.#pipeId)} AND row_id IN (${list(ids)})`;
  }

  /** Only rows from before the request: others are not what its author has seen. */
  #selected({ selection, createdAt }: ErrorRequest): string {
    const { group, from, to, origin, rowIds } = selection;
    return [
      `pipe_id = ${literal(this.#pipeId)}`,
      "replayed_at IS NULL",
      `time <= ${timeSql(createdAt)}`,
      ...(from === undefined ? [] : [`time >= ${timeSql(from)}`]),
      ...(to === undefined ? [] : [`time < ${timeSql(to)}`]),
      ...(origin === undefined ? [] : [`origin = ${literal(origin)}`]),
      ...(group === undefined ? [] : [`${groupSql} = ${literal(group)}`]),
      ...(rowIds === undefined ? [] : [`row_id IN (${list(rowIds)})`]),
    ].join(" AND ");
  }
}

function keptRowOf(id: string, row: Readonly<Record<string, unknown>>): KeptRow {
  const raw = String(row.raw);
  const bytes = row.raw_format === "hex" ? Buffer.from(raw.slice("hex:".length), "hex") : Buffer.from(raw);
  return { id, bytes, facts: JSON.parse(String(row.facts)) as JsonObject };
}

function messageSql(refused: RefusedReplays): string {
  const byReason = new Map<string, string[]>();
  for (const [id, reason] of refused) {
    const known = byReason.has(reason) || byReason.size < maxReasons ? reason : generalReason;
    const ids = byReason.get(known);
    if (ids === undefined) byReason.set(known, [id]);
    else ids.push(id);
  }
  const cases = [...byReason].map(
    ([reason, ids]) => `row_id IN (${list(ids)}), ${literal(reason.slice(0, maxReasonLength))}`,
  );
  return `multiIf(${cases.join(", ")}, message)`;
}

function timeSql(time: string): string {
  return `fromUnixTimestamp64Milli(toInt64(${Date.parse(time)}))`;
}

function list(texts: readonly string[]): string {
  return texts.map(literal).join(", ");
}
