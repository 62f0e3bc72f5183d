/** Running and recent queries of a service's clients, from the engine's own tables. */

import type { z } from "zod";
import type { queryRecord } from "../../api/queries.ts";
import type { ClickHouseClient, QueryOptions } from "../../clickhouse/client.ts";
import { ClickHouseError } from "../../clickhouse/client.ts";
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import { literal } from "../../clickhouse/sql.ts";
import { internalUser } from "../../engine/chdb/users.ts";

/** As the API shows it, but for what the engine has where nothing is to be shown: 0 rows, code 0, an empty text. */
export type QueryRecord = Readonly<Omit<z.output<typeof queryRecord>, "totalRows" | "error">> & {
  readonly totalRows: number;
  readonly errorCode: number;
  readonly error: string;
};

/** The end of a query, in microseconds since 1970, and its id: the place of a record in the log. */
export type QueryPlace = { readonly endedAt: string; readonly queryId: string };

export type LogPage = {
  readonly records: readonly QueryRecord[];
  /** The place of the last record when there are more. */
  readonly next: QueryPlace | undefined;
};

const maxText = 8_000;
const maxError = 2_000;
export const maxRunning = 1_000;

const clients = `user NOT IN ('', ${literal(internalUser)})`;
const counts = `read_rows AS readRows, read_bytes AS readBytes, written_rows AS writtenRows,
  written_bytes AS writtenBytes, memory_usage AS memoryBytes`;
const identity = `query_id AS queryId, user, forwarded_for AS address, http_user_agent AS userAgent, query_kind AS kind,
  toString(normalized_query_hash) AS hash, substringUTF8(query, 1, ${maxText}) AS query, current_database AS database`;
const iso = (time: string) => `formatDateTime(${time}, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC')`;

type RecordRow = {
  readonly [Name in keyof QueryRecord]: QueryRecord[Name] extends number ? number | string : QueryRecord[Name];
};
type LogRow = RecordRow & { readonly endedAt: string };

/** Queries that run now, longest first. */
export async function readRunning(client: ClickHouseClient, options: QueryOptions): Promise<QueryRecord[]> {
  const rows = await client.rows<RecordRow>(
    `SELECT ${identity}, ${counts}, 'running' AS state,
       ${iso("fromUnixTimestamp64Micro(toUnixTimestamp64Micro(now64(6)) - toInt64(elapsed * 1e6))")} AS startedAt,
       toUInt64(elapsed * 1000) AS durationMs, 0 AS resultRows, 0 AS resultBytes, total_rows_approx AS totalRows,
       0 AS errorCode, '' AS error
     FROM system.processes WHERE ${clients} AND is_initial_query ORDER BY elapsed DESC LIMIT ${maxRunning}`,
    options,
  );
  return rows.map(toRecord);
}

/** Queries that have ended, newest first, after a place. The engine writes its log every two seconds. */
export async function readLog(
  client: ClickHouseClient,
  options: QueryOptions,
  {
    limit,
    after,
    failed,
  }: { readonly limit: number; readonly after?: QueryPlace | undefined; readonly failed: boolean },
): Promise<LogPage> {
  const conditions = ["type != 'QueryStart'", "is_initial_query", clients];
  if (failed) conditions.push("exception_code != 0");
  if (after !== undefined) {
    const time = `fromUnixTimestamp64Micro(toInt64(${literal(after.endedAt)}))`;
    conditions.push(`event_date <= toDate(${time})`, `event_time <= ${time}`);
    conditions.push(`(event_time_microseconds, query_id) < (${time}, ${literal(after.queryId)})`);
  }
  const sql = `SELECT ${identity}, ${counts}, if(exception_code = 0, 'finished', 'failed') AS state,
      ${iso("query_start_time_microseconds")} AS startedAt, query_duration_ms AS durationMs,
      result_rows AS resultRows, result_bytes AS resultBytes, 0 AS totalRows, exception_code AS errorCode,
      substringUTF8(exception, 1, ${maxError}) AS error, toString(toUnixTimestamp64Micro(event_time_microseconds)) AS endedAt
    FROM system.query_log WHERE ${conditions.join(" AND ")}
    ORDER BY event_date DESC, event_time DESC, event_time_microseconds DESC, query_id DESC LIMIT ${limit + 1}`;
  const rows = await client.rows<LogRow>(sql, options).catch(noLogYet);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const records = rows.slice(0, limit).map(({ endedAt: _, ...row }) => toRecord(row));
  return { records, next: last && { endedAt: last.endedAt, queryId: last.queryId } };
}

/** Asks the engine to end a query of a client; false when there is none with this id. */
export async function killClientQuery(client: ClickHouseClient, options: QueryOptions, queryId: string) {
  const killed = await client.rows(`KILL QUERY WHERE query_id = ${literal(queryId)} AND ${clients} ASYNC`, options);
  return killed.length > 0;
}

/** The engine creates its log with the first record. */
function noLogYet(error: unknown): LogRow[] {
  if (error instanceof ClickHouseError && error.code === clickHouseCodes.UNKNOWN_TABLE) return [];
  throw error;
}

function toRecord(row: RecordRow): QueryRecord {
  return {
    ...row,
    durationMs: Number(row.durationMs),
    readRows: Number(row.readRows),
    readBytes: Number(row.readBytes),
    writtenRows: Number(row.writtenRows),
    writtenBytes: Number(row.writtenBytes),
    resultRows: Number(row.resultRows),
    resultBytes: Number(row.resultBytes),
    memoryBytes: Number(row.memoryBytes),
    totalRows: Number(row.totalRows),
    errorCode: Number(row.errorCode),
  };
}
