/**
 * The session that makes Postgres print every value in one way. Snapshot and replication connections must both run
 * `sessionSql`, or the same value arrives as two texts.
 */
import type { TableName } from "./catalog.ts";

/** One statement, for plain and for `replication=database` connections, before anything else. */
export const sessionSql = "";

/**
 * `COPY (SELECT columns FROM table WHERE where) TO STDOUT`: TabSeparated bytes as `RowWriter` makes them. `where` is
 * trusted SQL (a ctid range); `only` leaves out children of the table (partitions are read one by one).
 */
export function copySelect(
  table: TableName,
  columns: readonly string[],
  options: { readonly where?: string; readonly only?: boolean } = {},
): string {
  throw new Error(`not built: ${table.name} ${columns} ${options.where}`);
}

/** A quoted name in Postgres SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
