/** Rows with a `version` that every requested change raises, and changes that apply only to the versions expected. */

import { AppError } from "../../lib/errors.ts";
import type { Queries, SqlValue } from "./database.ts";

export type VersionedRecord = {
  readonly table: "access_tokens" | "alerts" | "api_keys" | "chart_sources" | "saved_objects" | "services" | "webhooks";
  /** The noun of the row in errors. */
  readonly what: string;
  /** Columns with the values that identify the row. */
  readonly key: Readonly<Record<string, string>>;
};

/**
 * Sets the columns, with those of the change itself, and raises the version; without columns nothing is changed.
 * Returns whether there was such a row. Throws PRECONDITION_FAILED.
 */
export async function updateVersioned(
  db: Queries,
  row: VersionedRecord,
  columns: Columns,
  expected: ExpectedVersions,
  ofChange: Columns = {},
): Promise<boolean> {
  if (Object.keys(columns).length === 0) return await isPresent(db, row, expected);
  const all = { ...columns, ...ofChange };
  const sets = [...Object.keys(all).map((column) => `${column} = ?`), "version = version + 1"].join(", ");
  return await write(db, row, { sql: `UPDATE ${row.table} SET ${sets}`, values: Object.values(all) }, expected);
}

/** Returns whether there was such a row. Throws PRECONDITION_FAILED. */
export async function deleteVersioned(db: Queries, row: VersionedRecord, expected: ExpectedVersions): Promise<boolean> {
  return await write(db, row, { sql: `DELETE FROM ${row.table}`, values: [] }, expected);
}

type Columns = Readonly<Record<string, SqlValue>>;

type Statement = { readonly sql: string; readonly values: readonly SqlValue[] };

async function write(db: Queries, row: VersionedRecord, { sql, values }: Statement, expected: ExpectedVersions) {
  const condition = versionCondition("version", expected);
  const where = `${isRow(row)}${condition.sql}`;
  const changed = await db.run(`${sql} WHERE ${where}`, ...values, ...Object.values(row.key), ...condition.values);
  if (changed === 0 && expected !== undefined) await isPresent(db, row, expected);
  return changed > 0;
}

async function isPresent(db: Queries, row: VersionedRecord, expected: ExpectedVersions): Promise<boolean> {
  const sql = `SELECT version FROM ${row.table} WHERE ${isRow(row)}`;
  const present = await db.get<{ version: number }>(sql, ...Object.values(row.key));
  if (present !== undefined) requireVersion(row.what, present.version, expected);
  return present !== undefined;
}

function isRow({ key }: VersionedRecord): string {
  return Object.keys(key)
    .map((column) => `${column} = ?`)
    .join(" AND ");
}

/** The versions that a change may apply to; undefined: any. */
export type ExpectedVersions = readonly number[] | undefined;

/** The version of a pipe in SQL: a rename raises it without raising the generation. */
export const pipeVersion = "(generation + renames)";

/** The end of a WHERE clause: no row matches that has another version. */
export function versionCondition(column: "version" | typeof pipeVersion, expected: ExpectedVersions) {
  if (expected === undefined) return { sql: "", values: [] as SqlValue[] };
  const sql = expected.length === 0 ? " AND 1 = 0" : ` AND ${column} IN (${expected.map(() => "?").join(", ")})`;
  return { sql, values: expected as readonly SqlValue[] };
}

/** Throws PRECONDITION_FAILED for another version. `what` is a noun. */
export function requireVersion(what: string, present: number, expected: ExpectedVersions): void {
  if (expected === undefined || expected.includes(present)) return;
  const wanted = expected.length === 0 ? "none that exists" : `version ${expected.join(" or ")}`;
  throw new AppError("PRECONDITION_FAILED", `The ${what} has version ${present}, and the request is for ${wanted}.`, {
    issues: [
      { path: "version", message: String(present) },
      { path: "If-Match", message: expected.length === 0 ? "names no version" : expected.join(", ") },
    ],
  });
}

/** After a statement with the condition: throws when it has changed nothing because of the version. */
export async function requireChanged(
  changed: number,
  what: string,
  expected: ExpectedVersions,
  present: () => Promise<{ readonly version: number } | undefined>,
): Promise<void> {
  if (changed > 0 || expected === undefined) return;
  const row = await present();
  if (row !== undefined) requireVersion(what, row.version, expected);
}
