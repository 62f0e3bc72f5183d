/** Stores for tests: on SQLite in the test's folder, or on the Postgres server that `storesOnPostgres` has chosen. */
import { hash } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { type Database, openDatabase } from "../src/store/database/database.ts";
import { type LeasedStores, openStoresOf } from "../src/store/open.ts";
import type { TestPostgres } from "./postgres/postgres.ts";

let server: TestPostgres | undefined;

/** From now on, the stores of this file's tests are databases of this server; undefined: SQLite again. */
export function storesOnPostgres(chosen: TestPostgres | undefined): void {
  server = chosen;
}

export function isOnPostgres(): boolean {
  return server !== undefined;
}

/** The database that belongs to the folder: a new one at the first call. */
export async function openTestDatabase(folder: string): Promise<Database> {
  if (server === undefined) return openDatabase(join(folder, "millrace.db"));
  const { openPostgres } = await import("../src/store/postgres/postgres-database.ts");
  return await openPostgres(await databaseUrl(server, folder));
}

/** The stores that belong to the folder; `secretKey` is in base64. */
export async function openTestStores(
  folder: string,
  secretKey = Buffer.alloc(32, 7).toString("base64"),
): Promise<LeasedStores> {
  const database = server && (await databaseUrl(server, folder));
  return await openStoresOf({ dataDir: folder, secretKey, database });
}

const template = "m_template";
const templates = new WeakMap<TestPostgres, Promise<void>>();

/** Creates the database of the name, with all tables, if there is none; its URL. */
export async function databaseUrl(on: TestPostgres, name: string): Promise<string> {
  const made = templates.get(on) ?? makeTemplate(on);
  templates.set(on, made);
  await made;
  const database = `m_${hash("sha256", name).slice(0, 16)}`;
  await createDatabase(on, `${pg.escapeIdentifier(database)} TEMPLATE ${template}`);
  return urlOf(on, database);
}

/** The tables are made once: a copy of files is faster. */
async function makeTemplate(on: TestPostgres): Promise<void> {
  await createDatabase(on, template);
  const { openPostgres } = await import("../src/store/postgres/postgres-database.ts");
  await (await openPostgres(urlOf(on, template))).close();
}

async function createDatabase(on: TestPostgres, clause: string): Promise<void> {
  await on.sql(`CREATE DATABASE ${clause}`).catch((error: { code?: string }) => {
    const exists = "42P04";
    if (error.code !== exists) throw error;
  });
}

function urlOf(on: TestPostgres, database: string): string {
  const login = `${encodeURIComponent(on.user)}:${encodeURIComponent(on.password)}`;
  return `postgres://${login}@${on.host}:${on.port}/${database}`;
}
