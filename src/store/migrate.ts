/** Brings an existing database to the current schema, step by step. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Told before a step begins, and again after it if it was slow. */
export type MigrationStep = {
  readonly name: string;
  readonly number: number;
  readonly of: number;
  readonly tookMs?: number;
};

export type MigrationOptions = {
  /** Folder of numbered files; default: the migrations of this program. */
  readonly folder?: string;
  /** Not called for the steps of a new database. */
  readonly onStep?: (step: MigrationStep) => void;
  /** A step that takes longer, in ms, reports its duration; default: a second. */
  readonly slowMs?: number;
};

type Connection = {
  exec(sql: string): void;
  all<Row>(sql: string, params: string[]): Row[];
  run(sql: string, params: (string | number)[]): number;
};

/** Contains the migrations of this program. */
export const migrationFolder = fileURLToPath(new URL("./migrations/", import.meta.url));

type Migration = { readonly file: string; readonly id: number };

/** The files with these numbers that are not applied, in their order. */
export function missingMigrations(folder: string, applied: ReadonlySet<number>): Migration[] {
  return readdirSync(folder)
    .sort()
    .map((file) => ({ file, id: Number.parseInt(file, 10) }))
    .filter(({ id }) => !Number.isNaN(id) && !applied.has(id));
}

/** Tells each step of an existing database before it is carried out, and after `done` if it was slow. */
export function* tellingSteps(
  missing: readonly Migration[],
  isExisting: boolean,
  { onStep, slowMs = 1_000 }: MigrationOptions,
): Generator<Migration & { readonly done: () => void }> {
  const tell = isExisting ? onStep : undefined;
  for (const [index, migration] of missing.entries()) {
    const step = { name: migration.file.replace(/\.sql$/, ""), number: index + 1, of: missing.length };
    const started = performance.now();
    tell?.(step);
    const done = () => {
      const tookMs = Math.round(performance.now() - started);
      if (tookMs >= slowMs) tell?.({ ...step, tookMs });
    };
    yield { ...migration, done };
  }
}

/** Applies the missing numbered migrations, each in its own transaction. */
export function migrate(connection: Connection, options: MigrationOptions): void {
  const folder = options.folder ?? migrationFolder;
  connection.exec("CREATE TABLE IF NOT EXISTS migrations (id INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)");
  const applied = new Set(connection.all<{ id: number }>("SELECT id FROM migrations", []).map((row) => row.id));
  for (const { file, id, done } of tellingSteps(missingMigrations(folder, applied), applied.size > 0, options)) {
    connection.exec("BEGIN IMMEDIATE");
    connection.run("INSERT INTO migrations (id, applied_at) VALUES (?, ?)", [id, new Date().toISOString()]);
    connection.exec(readFileSync(join(folder, file), "utf8"));
    connection.exec("COMMIT");
    done();
  }
}
