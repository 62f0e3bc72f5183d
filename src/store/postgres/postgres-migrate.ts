/** Brings a Postgres database to the current schema. */
import type { Queries } from "../database/database.ts";
import {
  type Applied,
  breakingColumn,
  type MigrationOptions,
  migrationFolder,
  missingMigrations,
  tellingSteps,
} from "../database/migrate.ts";
import { postgresMigration } from "./postgres-dialect.ts";

/** Chosen by us: advisory locks are numbers, separate for each database. */
const lockNumber = 64_557_223;

/**
 * Applies the missing migrations in one transaction, under a lock: of several processes that start at the same time one
 * applies them, and the others find them applied. Throws when a newer version has applied a breaking one.
 */
export async function migratePostgres(tx: Queries, options: MigrationOptions): Promise<void> {
  const folder = options.folder ?? migrationFolder;
  await tx.all("SELECT pg_advisory_xact_lock(?)", lockNumber);
  await tx.run("CREATE TABLE IF NOT EXISTS migrations (id BIGINT PRIMARY KEY, applied_at TEXT NOT NULL)");
  await tx.run(`ALTER TABLE migrations ADD COLUMN IF NOT EXISTS ${breakingColumn}`);
  const applied = await tx.all<Applied>("SELECT id, is_breaking FROM migrations ORDER BY id");
  const missing = missingMigrations(folder, applied);
  for (const { id, sql, isBreaking, done } of tellingSteps(missing, applied.length > 0, options)) {
    for (const statement of postgresMigration(sql).split(";")) {
      if (statement.trim() !== "") await tx.run(statement);
    }
    const add = "INSERT INTO migrations (id, applied_at, is_breaking) VALUES (?, ?, ?)";
    await tx.run(add, id, new Date().toISOString(), isBreaking);
    done();
  }
}
