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

type Migration = {
  readonly file: string;
  readonly id: number;
  readonly sql: string;
  /** 1 when versions before it cannot use the schema: a line of the file begins with `-- breaking`. */
  readonly isBreaking: 0 | 1;
  /** The earlier migration up to which the file has everything; a database with that one does not need it. */
  readonly replaces: number | undefined;
};

/** A row of the table `migrations`. */
export type Applied = { readonly id: number; readonly is_breaking: number };

/** What versions wrote that knew no such column, or an unfinished one, counts as breaking. */
export const breakingColumn = "is_breaking BIGINT NOT NULL DEFAULT 1";

/**
 * The migrations of the folder that are not applied, in their order. Throws when a newer version has applied one that
 * is breaking. One that is not breaking adds to the schema only what this version does not need to know.
 */
export function missingMigrations(folder: string, applied: readonly Applied[]): Migration[] {
  const known = readdirSync(folder)
    .sort()
    .filter((file) => /^\d/.test(file))
    .map((file) => readMigration(folder, file));
  const ids = new Set(known.map(({ id }) => id));
  const done = new Set(applied.map(({ id }) => id));
  const replaced = Math.max(0, ...known.map(({ replaces = 0 }) => replaces));
  const newer = applied.filter(({ id, is_breaking }) => id > replaced && !ids.has(id) && is_breaking !== 0);
  if (newer.length > 0) {
    const numbers = newer.map(({ id }) => id).join(", ");
    throw new Error(
      `a newer version of Millrace has changed the metadata (migration ${numbers}), and this version cannot use it any ` +
        "more: start the newer version, or restore a backup of the metadata from before the upgrade",
    );
  }
  const missing = known.filter(({ id, replaces = 0 }) => !done.has(id) && !done.has(replaces));
  const first = missing.find(({ replaces }) => replaces !== undefined);
  if (first !== undefined && applied.length > 0) {
    const before = `the metadata is of a version before migration ${first.replaces}, which this version cannot upgrade`;
    throw new Error(`${before}: start a version with the migrations up to ${first.replaces} first`);
  }
  return missing;
}

function readMigration(folder: string, file: string): Migration {
  const sql = readFileSync(join(folder, file), "utf8");
  const replaces = /^-- replaces: (\d+)/m.exec(sql)?.[1];
  return {
    file,
    id: Number.parseInt(file, 10),
    sql,
    isBreaking: /^-- breaking\b/m.test(sql) ? 1 : 0,
    replaces: replaces === undefined ? undefined : Number(replaces),
  };
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

/**
 * Applies the missing numbered migrations, each in its own transaction. Throws when a newer version has applied a
 * breaking one.
 */
export function migrate(connection: Connection, options: MigrationOptions): void {
  const folder = options.folder ?? migrationFolder;
  connection.exec(
    `CREATE TABLE IF NOT EXISTS migrations (id INTEGER PRIMARY KEY, applied_at TEXT NOT NULL, ${breakingColumn})`,
  );
  const column = "SELECT name FROM pragma_table_info('migrations') WHERE name = 'is_breaking'";
  if (connection.all(column, []).length === 0) connection.exec(`ALTER TABLE migrations ADD COLUMN ${breakingColumn}`);
  const applied = connection.all<Applied>("SELECT id, is_breaking FROM migrations ORDER BY id", []);
  const missing = missingMigrations(folder, applied);
  for (const { id, sql, isBreaking, done } of tellingSteps(missing, applied.length > 0, options)) {
    connection.exec("BEGIN IMMEDIATE");
    const add = "INSERT INTO migrations (id, applied_at, is_breaking) VALUES (?, ?, ?)";
    connection.run(add, [id, new Date().toISOString(), isBreaking]);
    connection.exec(sql);
    connection.exec("COMMIT");
    done();
  }
}
