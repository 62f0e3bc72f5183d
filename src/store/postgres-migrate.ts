/** Brings a Postgres database to the current schema. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Queries } from "./database.ts";
import { type MigrationOptions, migrationFolder, missingMigrations, tellingSteps } from "./migrate.ts";
import { postgresMigration } from "./postgres-dialect.ts";

/** Chosen by us: advisory locks are numbers, separate for each database. */
const lockNumber = 64_557_223;

/**
 * Applies the missing migrations in one transaction, under a lock: of several processes that start at the same time one
 * applies them, and the others find them applied.
 */
export async function migratePostgres(tx: Queries, options: MigrationOptions): Promise<void> {
  const folder = options.folder ?? migrationFolder;
  await tx.all("SELECT pg_advisory_xact_lock(?)", lockNumber);
  await tx.run("CREATE TABLE IF NOT EXISTS migrations (id BIGINT PRIMARY KEY, applied_at TEXT NOT NULL)");
  const applied = new Set((await tx.all<{ id: number }>("SELECT id FROM migrations")).map(({ id }) => id));
  const missing = missingMigrations(folder, applied).filter(({ file }) => !file.endsWith(".sqlite.sql"));
  for (const { file, id, done } of tellingSteps(missing, applied.size > 0, options)) {
    for (const statement of postgresMigration(readFileSync(join(folder, file), "utf8")).split(";")) {
      if (statement.trim() !== "") await tx.run(statement);
    }
    await tx.run("INSERT INTO migrations (id, applied_at) VALUES (?, ?)", id, new Date().toISOString());
    done();
  }
}
