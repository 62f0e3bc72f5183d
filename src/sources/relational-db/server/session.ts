/**
 * The session that makes Postgres print every value in one way. Snapshot and replication connections must both run
 * `sessionSql`, or the same value arrives as two texts.
 */
import type { TableName } from "./catalog.ts";

const settings = {
  client_encoding: "UTF8",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  extra_float_digits: "1",
  xmlbinary: "base64",
  // Names of tables and functions are printed with their schema.
  search_path: "",
} as const;

/** One statement, for plain and for `replication=database` connections, before anything else. */
export const sessionSql = `SELECT ${Object.entries(settings)
  .map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', false)`)
  .join(", ")}`;

/**
 * `COPY (SELECT columns FROM table WHERE where) TO STDOUT`: TabSeparated bytes as `TsvRowWriter` makes them. `columns`
 * are quoted names or SQL over them, `where` is a ctid range: both are trusted. `only` leaves out children of the table
 * (partitions are read one by one).
 */
export function copySelect(
  table: TableName,
  columns: readonly string[],
  options: { readonly where?: string; readonly only?: boolean } = {},
): string {
  const from = `${options.only === true ? "ONLY " : ""}${quoteName(table.schema)}.${quoteName(table.name)}`;
  const where = options.where === undefined ? "" : ` WHERE ${options.where}`;
  return `COPY (SELECT ${columns.join(", ")} FROM ${from}${where}) TO STDOUT`;
}

/** A quoted name in Postgres SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text literal in Postgres SQL. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
