/** The error table beside a destination, `<table>_pipes_error`: what could not be loaded, kept for seven days. */
import { tableName } from "../clickhouse/sql.ts";
import type { DestinationTable, SourceContext } from "../sources/source.ts";
import { deduplicationWindow } from "./destination.ts";
import type { Inserter } from "./insert.ts";

export function errorTableName(table: string): string {
  return `${table}_pipes_error`;
}

export function createErrorTableSql(destination: DestinationTable): string {
  return `CREATE TABLE IF NOT EXISTS ${tableName(destination.database, errorTableName(destination.table))} (
  time DateTime64(3, 'UTC') DEFAULT now64(3),
  origin String COMMENT 'object, or topic and partition',
  position String COMMENT 'row or offset, if known',
  message String,
  raw String COMMENT 'beginning of the record, if known'
) ENGINE = MergeTree ORDER BY time TTL toDateTime(time) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}`;
}

const maxRawLength = 4096;
const maxMessageLength = 2000;

/** Records rejections, the same token only once; resolves when they are durable. The table is made on first use. */
export function createRejector(
  destination: DestinationTable,
  inserter: Inserter,
  scrub: (text: string) => string,
): SourceContext["reject"] {
  let created: Promise<void> | undefined;
  const { database } = destination;
  const table = errorTableName(destination.table);
  return async (records, token) => {
    if (records.length === 0) return;
    created ??= inserter.command(createErrorTableSql(destination));
    await created;
    const rows = records.map((record) => {
      const raw = (record.raw ?? "").slice(0, maxRawLength);
      const message = scrub(record.message).slice(0, maxMessageLength);
      return JSON.stringify({ origin: record.origin, position: record.position ?? "", message, raw });
    });
    const sql = `INSERT INTO ${tableName(database, table)} (origin, position, message, raw) FORMAT JSONEachRow`;
    const body = () => Buffer.from(rows.join("\n"));
    await inserter.insert({ database, table, sql, body }, `rejected:${token}`, {}, inserter.signal);
  };
}
