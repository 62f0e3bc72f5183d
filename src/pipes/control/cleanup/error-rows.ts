/** Reads the refused rows of a pipe from its error table, for the API. */
import { type ClickHouseAddress, ClickHouseClient, ClickHouseError } from "../../../clickhouse/client.ts";
import type { AcquireEngine } from "../../../clickhouse/lease.ts";
import { parameterText } from "../../../clickhouse/sql.ts";
import { AppError, badRequest } from "../../../lib/errors.ts";
import { errorTableOf } from "../../../sources/contract/destination.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import { columnNamesSql, errorRowsSql, groupSql, shapeSql } from "../../error-table.ts";
import { destinationOf } from "../definition/definition.ts";

/** Largest sum of the bytes of one page; at least one row is returned. */
const pageBytes = 8 * 2 ** 20;
const maxGroups = 200;
const timeoutSeconds = 30;

export type ErrorFilter = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly origin?: string | undefined;
  readonly group?: string | undefined;
  readonly state: "refused" | "replayed" | "all";
};

export type Wake = "never" | "auto";

export type ErrorRowsOptions = {
  /** Wakes the service. */
  readonly acquire: AcquireEngine;
  /** The engine of a running service; undefined while it sleeps. Does not count as activity. */
  readonly running: (serviceId: string) => ClickHouseAddress | undefined;
};

export type ErrorGroup = {
  id: string;
  shape: string;
  total: string;
  records: string;
  replayable: string;
  origins: string;
  first: string;
  last: string;
  example: [id: string, message: string, origin: string, position: string, raw: string];
};

export type ErrorRow = {
  row_id: string;
  group_id: string;
  ms: string;
  origin: string;
  position: string;
  message: string;
  rows: string;
  raw: string;
  raw_format: string;
  raw_size: string;
  replayable: number;
  tried: string | null;
  replayed: string | null;
  replayed_by: string;
};

export class ErrorRows {
  readonly #options: ErrorRowsOptions;

  constructor(options: ErrorRowsOptions) {
    this.#options = options;
  }

  /** The groups of rows with one cause, the largest first. Throws SERVICE_NOT_RUNNING for a service that sleeps. */
  async groups(pipe: Pipe, filter: ErrorFilter, wake: Wake, signal: AbortSignal): Promise<ErrorGroup[]> {
    const { where, params } = conditionOf(pipe, filter);
    const example = "[row_id, message, origin, position, substringUTF8(raw, 1, 1000)]";
    const sql = (table: string) => `
      SELECT ${groupSql} AS id, any(${shapeSql}) AS shape, sum(rows) AS total, count() AS records,
        sumIf(rows, facts != '') AS replayable, uniqExact(origin) AS origins,
        min(toUnixTimestamp64Milli(time)) AS first, max(toUnixTimestamp64Milli(time)) AS last,
        argMax(${example}, time) AS example
      FROM ${table} WHERE ${where} GROUP BY id ORDER BY total DESC, id LIMIT ${maxGroups}`;
    return await this.#rows(pipe, wake, signal, sql, params);
  }

  /** One page of rows, newest first, with the cursor of the next page. Throws like `groups`. */
  async page(
    pipe: Pipe,
    filter: ErrorFilter & { readonly limit: number; readonly cursor?: string | undefined },
    wake: Wake,
    signal: AbortSignal,
  ): Promise<{ rows: ErrorRow[]; nextCursor: string | undefined }> {
    const { where, params } = conditionOf(pipe, filter);
    const after = filter.cursor === undefined ? undefined : readCursor(filter.cursor);
    const beyond =
      after === undefined ? "" : "AND (toUnixTimestamp64Milli(time), row_id) < ({ms:Int64}, {after:String})";
    const sql = (table: string) => `
      SELECT row_id, ${groupSql} AS group_id, toUnixTimestamp64Milli(time) AS ms, origin, position, message, rows,
        raw, raw_format, raw_size, facts != '' AS replayable, toUnixTimestamp64Milli(tried_at) AS tried,
        toUnixTimestamp64Milli(replayed_at) AS replayed, replayed_by
      FROM ${table} WHERE ${where} ${beyond} ORDER BY time DESC, row_id DESC LIMIT ${filter.limit + 1}`;
    const found = await this.#rows<ErrorRow>(pipe, wake, signal, sql, { ...params, ...after });
    return pageOf(found, filter.limit);
  }

  /** No rows where the pipe has no error table yet. */
  async #rows<Row>(
    pipe: Pipe,
    wake: Wake,
    signal: AbortSignal,
    sql: (table: string) => string,
    params: Readonly<Record<string, string>>,
  ): Promise<Row[]> {
    const { address, release } = await this.#engineOf(pipe, wake, signal);
    try {
      using client = new ClickHouseClient(address);
      const destination = destinationOf(pipe);
      const table = { database: destination.database, table: errorTableOf(destination) };
      const columns = await client.rows<{ name: string }>(columnNamesSql, { params: bound(table), signal });
      if (columns.length === 0) return [];
      const from = errorRowsSql(destination, new Set(columns.map(({ name }) => name)));
      const settings = { max_execution_time: timeoutSeconds };
      return await client.rows<Row>(sql(from), { params: bound(params), settings, signal });
    } catch (error) {
      if (error instanceof ClickHouseError || wake === "auto" || signal.aborted) throw error;
      throw new AppError("SERVICE_NOT_RUNNING", "The service went to sleep while its refused rows were read.", {
        cause: error,
      });
    } finally {
      await release();
    }
  }

  async #engineOf({ serviceId }: Pipe, wake: Wake, signal: AbortSignal) {
    if (wake === "auto") return await this.#options.acquire(serviceId, signal);
    const address = this.#options.running(serviceId);
    if (address === undefined) throw asleep();
    return { address, release: () => {} };
  }

  /** Throws SERVICE_NOT_RUNNING for a service that sleeps and must not be woken. */
  requireEngine({ serviceId }: Pipe, wake: Wake): void {
    if (wake === "never" && this.#options.running(serviceId) === undefined) throw asleep();
  }
}

function asleep(): AppError {
  const message = "The refused rows are in the service, which is not running. Send wake=auto to wake it.";
  return new AppError("SERVICE_NOT_RUNNING", message);
}

function conditionOf(pipe: Pipe, filter: ErrorFilter) {
  const states = { refused: "replayed_at IS NULL", replayed: "replayed_at IS NOT NULL", all: "1" };
  const given = [
    ["pipe_id = {pipe:String}", "pipe", pipe.id],
    ["time >= fromUnixTimestamp64Milli({from:Int64})", "from", msOf(filter.from)],
    ["time < fromUnixTimestamp64Milli({to:Int64})", "to", msOf(filter.to)],
    ["origin = {origin:String}", "origin", filter.origin],
    [`${groupSql} = {group:String}`, "group", filter.group],
  ].filter(([, , value]) => value !== undefined) as [string, string, string][];
  return {
    where: [states[filter.state], ...given.map(([sql]) => sql)].join(" AND "),
    params: Object.fromEntries(given.map(([, name, value]) => [name, value])),
  };
}

function pageOf(found: readonly ErrorRow[], limit: number) {
  let bytes = 0;
  const fitting = found.findIndex((row, at) => {
    bytes += row.raw.length;
    return at > 0 && bytes > pageBytes;
  });
  const rows = found.slice(0, Math.min(limit, fitting < 0 ? limit : fitting));
  const last = rows.at(-1);
  const more = last !== undefined && rows.length < found.length;
  return { rows, nextCursor: more ? Buffer.from(`${last.ms} ${last.row_id}`).toString("base64url") : undefined };
}

function readCursor(cursor: string): { ms: string; after: string } {
  const found = /^(-?\d{1,18}) ([0-9a-f]{32})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (found === null) {
    throw badRequest("cursor", "is not a cursor of this list");
  }
  return { ms: found[1] as string, after: found[2] as string };
}

function msOf(time: string | undefined): string | undefined {
  return time === undefined ? undefined : String(Date.parse(time));
}

function bound(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, parameterText(value)]));
}
