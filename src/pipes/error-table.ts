/** The error table beside a destination, `<table>_pipes_error`: what could not be loaded, kept for seven days. */
import { literal, tableName } from "../clickhouse/sql.ts";
import type { DestinationTable, RejectedRecord } from "../sources/source.ts";
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
) ENGINE = MergeTree ORDER BY time TTL toDateTime(time) + INTERVAL 7 DAY`;
}

const maxRawLength = 4096;

/** Records rejections and counts them as errors; resolves when both are durable. The table is made on first use. */
export function createRejector(
  destination: DestinationTable,
  inserter: Inserter,
  count: (counts: Readonly<Record<string, number>>) => Promise<void>,
  scrub: (text: string) => string,
): (records: readonly RejectedRecord[]) => Promise<void> {
  let created: Promise<void> | undefined;
  const table = tableName(destination.database, errorTableName(destination.table));
  return async (records) => {
    if (records.length === 0) return;
    created ??= inserter.command(createErrorTableSql(destination));
    await created;
    const rows = records.map((record) => {
      const raw = (record.raw ?? "").slice(0, maxRawLength);
      return `(${[record.origin, record.position ?? "", scrub(record.message), raw].map(literal).join(", ")})`;
    });
    const select = `SELECT * FROM VALUES('o String, p String, m String, r String', ${rows.join(", ")})`;
    await inserter.command(`INSERT INTO ${table} (origin, position, message, raw) ${select}`);
    await count({ errors: records.length });
  };
}
