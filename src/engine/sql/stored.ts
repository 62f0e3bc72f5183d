/**
 * Definitions already on the engine's disk: created before a rule existed, or restored. They are judged after the
 * engine's start and before clients are admitted. Forbidden ones are disabled; their data stays.
 */
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { scarcityCodes } from "../../clickhouse/error-codes.ts";
import { ClickHouseException } from "../../clickhouse/exception.ts";
import { identifier, ownDatabaseList } from "../../clickhouse/sql.ts";
import type { Guard } from "./guard.ts";

export type Forbidden = {
  readonly kind: "function" | "table";
  /** Without the database. */
  readonly name: string;
  readonly database: string;
  /** One sentence that names the forbidden part of the definition. */
  readonly reason: string;
};

type Stored = { readonly name: string; readonly database: string; readonly text: string };

const functionsQuery =
  "SELECT name, '' AS database, create_query AS text FROM system.functions WHERE origin = 'SQLUserDefined'";
const tablesQuery = `SELECT name, database, create_table_query AS text FROM system.tables WHERE database NOT IN ${ownDatabaseList} AND text != ''`;
/** Names can be listed when definitions cannot. */
const namesQuery = `SELECT name, database, '' AS text FROM system.tables WHERE database NOT IN ${ownDatabaseList}`;
/**
 * Databases of engine Overlay, such as `default`, keep no table detached over a restart, and cannot be queried for it.
 */
const detachedQuery = `SELECT table AS name, database,
    file(concat(assumeNotNull((SELECT data_path FROM system.databases WHERE name = 'system')), metadata_path), '') AS text
  FROM system.detached_tables WHERE database IN (SELECT name FROM system.databases WHERE engine = 'Atomic') AND text != ''`;

/**
 * Judges every function, table, view and dictionary; `client` is authenticated as the internal user. Forbidden
 * functions are dropped, other objects are detached until the engine's next start, when they are judged again, and
 * `guard` refuses to attach them. Resolves to what was forbidden. An error that says nothing of a definition takes
 * nothing out of use: the start fails, and is tried again. `hasFunctions` is false when there are no
 * user-defined functions: listing them takes the engine about 40 ms, a fifth of a wake. Rejects when the engine cannot
 * be queried.
 */
export async function judgeStored(
  client: ClickHouseClient,
  guard: Guard,
  { hasFunctions }: { readonly hasFunctions: boolean },
): Promise<Forbidden[]> {
  const forbidden: Forbidden[] = [];
  const disable = async ({ name, database, text }: Stored, reason: string) => {
    guard.forbidAttach(database);
    guard.forbidAttach(name);
    const object = text.startsWith("CREATE DICTIONARY") ? "DICTIONARY" : "TABLE";
    await client.command(`DETACH ${object} IF EXISTS ${identifier(database)}.${identifier(name)} SYNC`, {
      settings: { check_table_dependencies: 0, check_referential_table_dependencies: 0 },
    });
    forbidden.push({ kind: "table", name, database, reason });
  };
  const [detached, functions, tables] = await Promise.all([
    client.rows<Stored>(detachedQuery),
    hasFunctions ? client.rows<Stored>(functionsQuery) : [],
    readTables(client, disable),
  ]);
  for (const { name, database, text } of detached) {
    // The file holds the statement that would attach the table.
    const reason = await problem(() => guard.judgeText(latin1(text).replace(/^ATTACH/, "CREATE")));
    if (reason === undefined) continue;
    guard.forbidAttach(name);
    forbidden.push({ kind: "table", name, database, reason });
  }
  for (const { name, database, text } of functions) {
    const reason = await problem(() => guard.judgeStored(latin1(text)));
    if (reason === undefined) continue;
    await client.command(`DROP FUNCTION IF EXISTS ${identifier(name)}`);
    forbidden.push({ kind: "function", name, database, reason });
  }
  for (const table of tables) {
    const reason = await problem(() => guard.judgeStored(latin1(table.text)));
    if (reason !== undefined) await disable(table, reason);
  }
  return forbidden;
}

/**
 * One table that the engine cannot describe, such as two of the engine Merge that read each other, spoils the list of
 * all tables, also for everybody else. Such tables are disabled.
 */
async function readTables(
  client: ClickHouseClient,
  disable: (table: Stored, reason: string) => Promise<void>,
): Promise<Stored[]> {
  try {
    return await client.rows<Stored>(tablesQuery);
  } catch (error) {
    if (!(error instanceof ClickHouseError) || scarcityCodes.has(error.code)) throw error;
  }
  const tables: Stored[] = [];
  for (const table of await client.rows<Stored>(namesQuery)) {
    try {
      const where = "AND database = {database:String} AND name = {name:String}";
      const params = { database: table.database, name: table.name };
      tables.push(...(await client.rows<Stored>(`${tablesQuery} ${where}`, { params })));
    } catch (error) {
      if (!(error instanceof ClickHouseError) || scarcityCodes.has(error.code)) throw error;
      await disable(table, `The engine cannot describe it: ${error.message.split("Stack address")[0]}`);
    }
  }
  return tables;
}

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

async function problem(judge: () => Promise<void>): Promise<string | undefined> {
  try {
    await judge();
    return undefined;
  } catch (error) {
    if (error instanceof ClickHouseException && !scarcityCodes.has(error.code)) return error.message;
    throw error;
  }
}
