/**
 * The metadata database: SQLite in the data directory, or Postgres behind the same interface
 * (`../postgres/postgres-database.ts`).
 * SQL is portable: `?` placeholders, JSON as text, ISO 8601 times as text, quoted aliases. Writes are durable when
 * their promise resolves (WAL, synchronous=FULL). This file is the only importer of the SQLite driver.
 */
import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { AppError, asAppError, diskFailed, diskFull } from "../../lib/errors.ts";
import { type MigrationOptions, migrate } from "./migrate.ts";

export type SqlValue = string | number | bigint | null;

/** A row by the names of its columns. */
export type StoredColumns = Readonly<Record<string, SqlValue>>;

export interface Queries {
  all<Row = StoredColumns>(sql: string, ...params: SqlValue[]): Promise<readonly Row[]>;
  get<Row = StoredColumns>(sql: string, ...params: SqlValue[]): Promise<Row | undefined>;
  /** Returns the number of changed rows. */
  run(sql: string, ...params: SqlValue[]): Promise<number>;
}

/**
 * Whose rows a transaction reads and writes. `holder`: the body first compares a lease, and no process without this
 * lease writes these rows. Postgres then compares the transaction with no other one.
 */
export type RowsOf = "anybody" | "holder";

export interface Database extends Queries {
  /**
   * Runs the body's statements as one atomic, serialised transaction; an exception rolls all of it back. On Postgres
   * the body is called again after a conflict with another process: it must change nothing but the database.
   */
  transaction<T>(body: (tx: Queries) => Promise<T>, rows?: RowsOf): Promise<T>;
  /** Raised by every write before its promise resolves: while it is unchanged, reads return the same. Starts at 0. */
  revision(): number;
  /**
   * Raised by what changes answers without a write of ours, and part of `revision`: where other processes write, every
   * second and when one of them has told of a change; on SQLite, when `problem` changes.
   */
  othersRevision(): number;
  /** Why nothing can be written, as a sentence: states that are read may be old. Undefined: the last write worked. */
  problem(): string | undefined;
  /**
   * Tells the other processes on the database, when the transaction is committed, that their loops have something to
   * do. They may not hear it: loops look by themselves, too. Commits that tell wait for each other: not for batches.
   */
  tellOthers(tx: Queries): Promise<void>;
  /** Calls the listener, from now until the end, when another process has told of a change: at most every 100 ms. */
  onTold(listener: () => void): void;
  /** An SQL expression: the database's own time, in ms since 1970. */
  readonly nowMs: string;
  /** After rows with numbers of their own were added: the next rows of these tables get higher ones. */
  continueNumbers(tx: Queries): Promise<void>;
  /** Writes a consistent copy into a new file. */
  snapshotTo(file: string): Promise<void>;
  close(): Promise<void>;
}

/** One write, of which the other processes are told if it has changed something; returns the number of changed rows. */
export async function runAndTell(
  db: Pick<Database, "transaction" | "tellOthers">,
  sql: string,
  ...params: SqlValue[]
): Promise<number> {
  return await db.transaction(async (tx) => {
    const changed = await tx.run(sql, ...params);
    if (changed > 0) await db.tellOthers(tx);
    return changed;
  });
}

/** The same database, whose `revision` counts what is written through it, and by other processes. */
export function countingWrites(db: Database): Database {
  let revision = 0;
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      revision += 1;
    }
  };
  return {
    ...db,
    revision: () => revision + db.othersRevision(),
    run: (sql, ...params) => counted(db.run(sql, ...params)),
    transaction: (body, rows) => counted(db.transaction(body, rows)),
  };
}

/**
 * Opens (and creates or migrates) the database file. Takes a lock that ends with the process, so that a second control
 * plane on the same directory fails with an error instead of writing as well.
 */
export function openDatabase(file: string, migrations: MigrationOptions = {}): Database {
  makePrivate(file);
  const lock = takeLock(`${file}.lock`);
  const writer = openConnection(file, lock);
  try {
    migrate(writer, migrations);
  } catch (error) {
    writer.close();
    lock.close();
    throw openError(file, error);
  }
  const reader = new Connection(file);
  let tail: Promise<unknown> = Promise.resolve();
  // This process is the only writer: it holds the lock.
  let revision = 0;
  let problem: string | undefined;
  let problemChanges = 0;
  let changesBefore = 0;
  const judge = (error: unknown) => {
    // Whoever changes nothing needs no disk.
    const isOver = problem !== undefined && error === undefined && writer.totalChanges() !== changesBefore;
    const found = isOfDisk(error) ? error.message : isOver ? undefined : problem;
    if (found === problem) return;
    problemChanges += 1;
    problem = found;
    changesBefore = writer.totalChanges();
  };
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => {
    // After the commit: a reader that knows the new revision never reads older rows.
    const result = tail
      .then(work)
      .then(
        (done) => {
          judge(undefined);
          return done;
        },
        (cause: unknown) => {
          const error = writeError(cause);
          judge(error);
          throw error;
        },
      )
      .finally(() => {
        revision += 1;
      });
    tail = result.catch(() => {});
    return result;
  };
  return {
    all: async (sql, ...params) => reader.all(sql, params),
    get: async (sql, ...params) => reader.get(sql, params),
    revision: () => revision + problemChanges,
    othersRevision: () => problemChanges,
    problem: () => problem,
    // There are no others.
    tellOthers: async () => {},
    onTold: () => {},
    nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    run: (sql, ...params) => exclusively(async () => writer.run(sql, params)),
    transaction: (body) => exclusively(() => inTransaction(writer, body)),
    // SQLite does so by itself.
    continueNumbers: async () => {},
    snapshotTo: (file) => exclusively(async () => void writer.run("VACUUM INTO ?", [file])),
    close: async () => {
      reader.close();
      writer.close();
      lock.close();
    },
  };
}

function openConnection(file: string, lock: { close(): void }): Connection {
  try {
    return new Connection(file);
  } catch (error) {
    lock.close();
    throw openError(file, error);
  }
}

/** The error of the start: it names the file, and what to do. */
function openError(file: string, cause: unknown): unknown {
  if (((cause ?? {}) as { errcode?: number }).errcode !== sqliteNotADatabase) return cause;
  const remedy = "restore it, as with `millrace restore-metadata` into an empty --data-dir";
  return new Error(`${file} is not a database of Millrace, or is damaged: ${remedy}`, { cause });
}

async function inTransaction<T>(connection: Connection, body: (tx: Queries) => Promise<T>): Promise<T> {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = await body({
      all: async (sql, ...params) => connection.all(sql, params),
      get: async (sql, ...params) => connection.get(sql, params),
      run: async (sql, ...params) => connection.run(sql, params),
    });
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some errors, as on a full disk: the first error is the one to tell.
    if (connection.isInTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

/** Result codes of SQLite. The lower eight bits are the kind of an error. */
const sqliteReadOnly = 8;
const sqliteIoError = 10;
const sqliteFull = 13;
const sqliteCannotOpen = 14;
const sqliteNotADatabase = 26;

/** What an error of the driver means to whoever runs the server. */
function writeError(error: unknown): unknown {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  if (typeof errcode !== "number") return asAppError(error) ?? error;
  const kind = errcode & 0xff;
  if (kind === sqliteFull) return diskFull(error);
  return [sqliteReadOnly, sqliteIoError, sqliteCannotOpen].includes(kind) ? diskFailed(error) : error;
}

function isOfDisk(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === "DISK_FULL" || error.code === "DISK_FAILED");
}

class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { timeout: 5_000 });
    this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  all<Row = StoredColumns>(sql: string, params: SqlValue[]): Row[] {
    return this.#prepare(sql).all(...(params as SQLInputValue[])) as Row[];
  }

  get<Row = StoredColumns>(sql: string, params: SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...(params as SQLInputValue[])) as Row | undefined;
  }

  run(sql: string, params: SqlValue[]): number {
    return Number(this.#prepare(sql).run(...(params as SQLInputValue[])).changes);
  }

  totalChanges(): number {
    return this.get<{ n: number }>("SELECT total_changes() AS n", [])?.n ?? 0;
  }

  close(): void {
    this.#db.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(withoutRowLocks(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** SQLite has one writer at a time, and needs no locks of rows. */
function withoutRowLocks(sql: string): string {
  return sql.replace(/ FOR (SHARE|UPDATE)$/, "");
}

/** SQLite gives its side files the mode of the database file. Those of earlier versions may have another one. */
function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  for (const name of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(name)) chmodSync(name, 0o600);
}

/** Taken by a process until it ends; throws when another one has it. */
export function takeLock(file: string): { close(): void } {
  makePrivate(file);
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    return lock;
  } catch (cause) {
    lock.close();
    throw new Error(
      `another Millrace process already uses this data directory (${file} is locked): stop it, or use another directory`,
      { cause },
    );
  }
}
