/** Rows of tables as records: what stores read, count and write by the names of members. */
import { columnsOf, insertRow } from "./columns.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import type { Sealer } from "./secrets.ts";

/** Reads and writes rows of a database. */
export abstract class Store {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }

  /** A transaction of which the other processes are told. */
  protected async tellingOthers<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return await this.db.transaction(async (tx) => {
      const result = await work(tx);
      await this.db.tellOthers(tx);
      return result;
    });
  }
}

/** Seals some of what it writes with the key of the installation. */
export abstract class SealingStore extends Store {
  protected readonly sealer: Sealer;

  constructor(db: Database, sealer: Sealer) {
    super(db);
    this.sealer = sealer;
  }
}

/** A part of a list. */
export type ListPart = { readonly limit: number; readonly offset: number };

/** A table, and how a row of it is read. */
export type RecordTable<T> = { readonly table: string; readonly read: (row: never) => T };

/** The record of the row that the rest of a SELECT finds. */
export async function findRecord<T>(
  db: Queries,
  { table, read }: RecordTable<T>,
  rest: string,
  ...params: SqlValue[]
): Promise<T | undefined> {
  const row = await db.get(`SELECT * FROM ${table} ${rest}`, ...params);
  return row && read(row as never);
}

/** The records of the rows that the rest of a SELECT finds, in its order. */
export async function listRecords<T>(
  db: Queries,
  { table, read }: RecordTable<T>,
  rest: string,
  ...params: SqlValue[]
): Promise<T[]> {
  return (await db.all(`SELECT * FROM ${table} ${rest}`, ...params)).map((row) => read(row as never));
}

/** How many rows of the table the rest of a SELECT finds. */
export async function countRows(db: Queries, table: string, rest: string, ...params: SqlValue[]): Promise<number> {
  const row = await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} ${rest}`, ...params);
  return Number(row?.n ?? 0);
}

/** Sets members of the rows that have these keys. Returns the number of changed rows. */
export async function updateRows(db: Queries, table: string, keys: object, members: object): Promise<number> {
  const [of, columns] = [columnsOf(keys), columnsOf(members)];
  const list = (names: object, separator: string) =>
    Object.keys(names)
      .map((name) => `${name} = ?`)
      .join(separator);
  const sql = `UPDATE ${table} SET ${list(columns, ", ")} WHERE ${list(of, " AND ")}`;
  return await db.run(sql, ...Object.values(columns), ...Object.values(of));
}

/** Inserts a row, or sets the members of the one that has these keys, but not those that are `first` ones. */
export async function upsertRow(db: Queries, table: string, keys: object, members: object, first = {}): Promise<void> {
  const sets = Object.keys(columnsOf(members)).map((column) => `${column} = excluded.${column}`);
  const conflict = `ON CONFLICT (${Object.keys(columnsOf(keys)).join(", ")}) DO UPDATE SET ${sets.join(", ")}`;
  await insertRow(db, table, { ...keys, ...members, ...first }, conflict);
}
