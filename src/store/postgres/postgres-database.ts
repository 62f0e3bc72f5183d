/**
 * The metadata database on Postgres. Transactions are SERIALIZABLE and repeated after a conflict, so that a body may
 * read and then write what follows from it, like on SQLite: see `docs/decisions/0017-leases.md`. Writes of this process
 * are carried out one after the other, in the order in which they are asked for. Loaded only for `--database`.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { AppError } from "../../lib/errors.ts";
import { spaced } from "../../lib/spaced.ts";
import { copyTables, storedTables } from "../database/copy-tables.ts";
import { type Database, openDatabase, type Queries, type RowsOf, type SqlValue } from "../database/database.ts";
import {
  type Applied,
  breakingColumn,
  type MigrationOptions,
  migrationFolder,
  missingMigrations,
  tellingSteps,
} from "../database/migrate.ts";
import { numbered, postgresMigration } from "./postgres-dialect.ts";
import { PostgresHosts } from "./postgres-hosts.ts";
import { PostgresListener } from "./postgres-listener.ts";
import { placeOf } from "./postgres-url.ts";

/** Connections of one process: one writes, the others read. */
const mostConnections = 6;
const connectTimeoutMs = 5_000;
/** The longest statement of the store takes seconds. */
const statementTimeoutMs = 60_000;
/** The locks of a process that is suspended within a transaction must not stop the others. */
const idleInTransactionMs = 10_000;
const mostAttempts = 12;
/** Channel of notifications: the database belongs to one installation. */
const channel = "millrace";
/** A burst of writes elsewhere must not keep the loops busy. */
const toldEveryMs = 100;

const int8 = 20;
const numeric = 1700;
/** Numbers of the store are below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === int8 || oid === numeric ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** `folder` and the like: as for SQLite. */
export type PostgresOptions = MigrationOptions & {
  /** Opens also a server whose failover may lose confirmed transactions. */
  readonly allowsAsyncReplication?: boolean;
  /** Told of a connection that breaks while nobody uses it. */
  readonly onLost?: (error: Error) => void;
};

/** Opens and migrates the database. Throws an error that names server and reason, and no password. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const hosts = new PostgresHosts(url);
  const login = { connectionTimeoutMillis: connectTimeoutMs, application_name: "millrace", keepAlive: true };
  const pool = new pg.Pool({
    ...hosts.poolOptions,
    ...login,
    max: mostConnections,
    // Statements that are not awaited one by one are sent together.
    pipeline: true,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 5_000,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    types,
  });
  pool.on("error", (error) => options.onLost?.(error));
  try {
    await inTransaction({ pool, hosts }, "READ COMMITTED", async (tx) => {
      await requireUsable(tx);
      if (options.allowsAsyncReplication !== true) await requireDurable(tx);
      await migratePostgres(tx, options);
    });
  } catch (error) {
    await pool.end();
    const cause = reasonOf(error);
    throw new Error(`the metadata database ${placeOf(url)} cannot be used: ${cause.message}`, { cause });
  }
  const listener = new PostgresListener({
    login: () => ({ ...login, connectionString: hosts.url }),
    channel,
    onLost: (error) => options.onLost?.(error),
  });
  return databaseOf({ pool, hosts }, listener);
}

type Server = { readonly pool: pg.Pool; readonly hosts: PostgresHosts };

function databaseOf(server: Server, listener: PostgresListener): Database {
  // A process is not told what it has told itself.
  const ownId = randomUUID();
  let tail: Promise<unknown> = Promise.resolve();
  let written = 0;
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(work).finally(() => {
      written += 1;
    });
    tail = result.catch(() => {});
    return result;
  };
  let told = 0;
  const others = () => Math.floor(performance.now() / 1_000) + told;
  const transaction: Database["transaction"] = (body, rows) => inTurn(() => serialised(server, body, rows));
  return {
    ...queriesOf((sql, params) => onConnection(server, (client) => client.query(sql, params))),
    revision: () => written + others(),
    othersRevision: others,
    problem: () => undefined,
    tellOthers: async (tx) => void (await tx.all("SELECT pg_notify(?, ?)", channel, ownId)),
    onTold: (tell) => {
      const soon = spaced(tell, toldEveryMs);
      listener.listen((sender) => {
        if (sender === ownId) return;
        // Before the loops look: lists that are kept are read again.
        told += 1;
        soon();
      });
    },
    nowMs: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    run: (sql, ...params) => transaction((tx) => tx.run(sql, ...params)),
    transaction,
    continueNumbers,
    snapshotTo: (file) => inTransaction(server, "REPEATABLE READ READ ONLY", (tx) => copyToFile(tx, file)),
    close: async () => {
      await listener.close();
      await server.pool.end();
    },
  };
}

/** Repeats the transaction while it conflicts with those of other processes. */
async function serialised<T>(server: Server, body: (tx: Queries) => Promise<T>, rows: RowsOf = "anybody"): Promise<T> {
  const isolation = rows === "holder" ? "READ COMMITTED" : "SERIALIZABLE";
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(server, isolation, body);
    } catch (error) {
      if (!isConflict(error) || attempt === mostAttempts) throw error;
      await delay(Math.random() * 2 ** Math.min(attempt, 7));
    }
  }
}

async function inTransaction<T>(
  server: Server,
  isolation: "SERIALIZABLE" | "READ COMMITTED" | "REPEATABLE READ READ ONLY",
  body: (tx: Queries) => Promise<T>,
): Promise<T> {
  return await onConnection(server, async (client, lose) => {
    const tx = queriesOf((sql, params) => client.query(sql, params));
    await tx.run(`BEGIN ISOLATION LEVEL ${isolation}`);
    try {
      const result = await body(tx);
      await tx.run("COMMIT");
      return result;
    } catch (error) {
      await tx.run("ROLLBACK").catch(lose);
      throw error;
    }
  });
}

async function connected({ pool, hosts }: Server): Promise<pg.PoolClient> {
  try {
    return await hosts.connect(pool);
  } catch (error) {
    throw publicError(error);
  }
}

/** One connection for some work. It is not used again after it has failed, or is lost. */
async function onConnection<T>(
  server: Server,
  work: (client: pg.PoolClient, lose: () => void) => Promise<T>,
): Promise<T> {
  const client = await connected(server);
  const unwatch = server.hosts.watch(client);
  let isBroken = false;
  try {
    return await work(client, () => {
      isBroken = true;
    });
  } catch (error) {
    isBroken ||= isUnavailable(error);
    throw error;
  } finally {
    unwatch();
    client.release(isBroken);
  }
}

type Ask = (sql: string, params: SqlValue[]) => Promise<pg.QueryResult<pg.QueryResultRow>>;

function queriesOf(query: Ask): Queries {
  const ask: Ask = async (sql, params) => {
    try {
      return await query(numbered(sql), params.map(storable));
    } catch (error) {
      throw publicError(error);
    }
  };
  return {
    all: async <Row>(sql: string, ...params: SqlValue[]) => (await ask(sql, params)).rows as Row[],
    get: async <Row>(sql: string, ...params: SqlValue[]) => (await ask(sql, params)).rows[0] as Row | undefined,
    run: async (sql, ...params) => (await ask(sql, params)).rowCount ?? 0,
  };
}

async function continueNumbers(tx: Queries): Promise<void> {
  for (const { name, isNumbered } of storedTables) {
    if (isNumbered !== true) continue;
    const next = `SELECT setval(pg_get_serial_sequence('${name}', 'seq'), coalesce(max(seq), 0) + 1, false) FROM ${name}`;
    await tx.all(next);
  }
}

/** Writes the rows into a new SQLite database, which a server can be started on. */
async function copyToFile(from: Queries, file: string): Promise<void> {
  const folder = `${file}.copy`;
  mkdirSync(folder, { mode: 0o700 });
  const copy = openDatabase(join(folder, "millrace.db"));
  try {
    await copy.transaction((tx) => copyTables(from, tx));
    // One file, without a log beside it.
    await copy.snapshotTo(file);
  } finally {
    await copy.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Texts of Postgres cannot contain the character 0. */
function storable(value: SqlValue): SqlValue {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
}

const conflicts = new Set(["40001", "40P01"]);

function isConflict(error: unknown): boolean {
  return conflicts.has(codeOf(error) ?? "");
}

/** Classes and codes of SQLSTATE: connection, resources, shutdown, and a server that has become a standby. */
const away = /^(08|53|57P|25006|25P03)/;
const awayOfNode = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN)$|^ENOTFOUND$|^EAI_AGAIN$/;
const awayOfDriver = /connection terminated|connection timeout|timeout exceeded|not queryable|query read timeout/i;

function isUnavailable(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "STORE_UNAVAILABLE";
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error && awayOfDriver.test(error.message);
  return away.test(code) || awayOfNode.test(code);
}

function publicError(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof AppError) return error;
  return new AppError("STORE_UNAVAILABLE", "The metadata database does not answer.", {
    cause: error,
  });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

async function requireUsable(tx: Queries): Promise<void> {
  const found = await tx.get<{ version: number; encoding: string; standby: boolean }>(
    `SELECT CAST(current_setting('server_version_num') AS BIGINT) AS version,
       current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`,
  );
  if (found === undefined) return;
  if (found.version < 140_000) throw new Error("Postgres 14 or newer is needed");
  if (found.encoding !== "UTF8") throw new Error(`its encoding is ${found.encoding}: create a database with UTF8`);
  if (found.standby) throw new Error("the server is a standby: name the primary");
}

function reasonOf(error: unknown): Error {
  const reason = error instanceof AppError && error.cause instanceof Error ? error.cause : error;
  const inner = reason instanceof AggregateError ? reason.errors[0] : reason;
  return inner instanceof Error ? inner : new Error(String(inner));
}

/**
 * Throws when a failover could lose confirmed transactions: a pipe whose last positions are lost cuts other batches
 * from the rows after them, whose tokens the tables do not know, and these rows are inserted twice.
 */
async function requireDurable(db: Queries): Promise<void> {
  const found = await db.get<{ commit: string; names: string; standbys: number }>(
    `SELECT current_setting('synchronous_commit') AS "commit", current_setting('synchronous_standby_names') AS names,
       (SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, '') <> 'backup' AND pid NOT IN (
          SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL
        )) AS standbys`,
  );
  if (found === undefined) return;
  const { commit, names, standbys } = found;
  const insist = "or accept rows that arrive twice after a failover with --allow-async-replication";
  if (commit === "off") throw new Error(`synchronous_commit is off: set it to on, ${insist}`);
  if (standbys === 0) return;
  if (names === "") {
    throw new Error(`it has standbys, and none is synchronous: set synchronous_standby_names, ${insist}`);
  }
  if (commit === "local") throw new Error(`synchronous_commit is local, and it has standbys: set it to on, ${insist}`);
}

/** Chosen by us: advisory locks are numbers, separate for each database. */
const lockNumber = 64_557_223;

/**
 * Applies the missing migrations in one transaction, under a lock: of several processes that start at the same time one
 * applies them, and the others find them applied. Throws when a newer version has applied a breaking one.
 */
async function migratePostgres(tx: Queries, options: MigrationOptions): Promise<void> {
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
