/** Changes that apply only to the version that the caller has seen: compared and written in one statement. */
import { AppError } from "../../lib/errors.ts";
import type { SqlValue } from "./database.ts";

/** The versions that a change may apply to; undefined: any. */
export type ExpectedVersions = readonly number[] | undefined;

/** The version of a pipe in SQL: a rename raises it without raising the generation. */
export const pipeVersion = "(generation + renames)";

/** For the end of a WHERE clause: no row matches that has another version. */
export function versionCondition(column: "version" | typeof pipeVersion, expected: ExpectedVersions) {
  if (expected === undefined) return { sql: "", values: [] as SqlValue[] };
  const sql = expected.length === 0 ? " AND 1 = 0" : ` AND ${column} IN (${expected.map(() => "?").join(", ")})`;
  return { sql, values: expected as readonly SqlValue[] };
}

/** Throws PRECONDITION_FAILED for another version. `what` is a noun. */
export function requireVersion(what: string, present: number, expected: ExpectedVersions): void {
  if (expected === undefined || expected.includes(present)) return;
  const wanted = expected.length === 0 ? "another one" : `version ${expected.join(" or ")}`;
  throw new AppError("PRECONDITION_FAILED", `The ${what} has version ${present}, and the request is for ${wanted}.`, {
    issues: [
      { path: "version", message: String(present) },
      { path: "If-Match", message: expected.join(", ") },
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
