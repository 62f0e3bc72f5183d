/** The databases, tables and columns of a service, from the engine's own tables. Bounded. */

import type { z } from "zod";
import type { tableColumn } from "../../api/tables.ts";
import type { ClickHouseClient, QueryOptions } from "../../clickhouse/client.ts";
import { ownDatabaseList, parameterText } from "../../clickhouse/sql.ts";

export type ColumnFacts = z.output<typeof tableColumn>;

export type TableFacts = {
  readonly database: string;
  readonly name: string;
  readonly engine: string;
  readonly comment: string;
  /** Null: the table's engine does not know. */
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly uncompressedBytes: number | null;
  readonly parts: number | null;
  readonly partitionKey: string;
  readonly sortingKey: string;
  readonly primaryKey: string;
  readonly samplingKey: string;
  /** The engine hides secrets in it. Empty when the statements of all tables together are too long. */
  readonly createStatement: string;
  readonly changedAt: string;
  readonly columns: readonly ColumnFacts[];
};

export type DatabaseFacts = { readonly name: string; readonly engine: string; readonly comment: string };

export type TableInventory = {
  /** True when there are more tables or columns than are listed. */
  readonly truncated: boolean;
  readonly databases: readonly DatabaseFacts[];
  readonly tables: readonly TableFacts[];
};

const maxDatabases = 1_000;
const maxTables = 5_000;
const maxColumns = 50_000;
const maxStatement = 65_536;
/** Most characters of the statements of all tables together. */
const maxStatements = 4_194_304;

const tableColumns = `database, name, engine, comment, total_rows AS rows, total_bytes AS bytes,
  total_bytes_uncompressed AS uncompressedBytes, active_parts AS parts, partition_key AS partitionKey,
  sorting_key AS sortingKey, primary_key AS primaryKey, sampling_key AS samplingKey,
  substring(create_table_query, 1, ${maxStatement}) AS createStatement,
  formatDateTime(metadata_modification_time, '%Y-%m-%dT%H:%i:%SZ', 'UTC') AS changedAt`;

const columnColumns = `database, table, name, type, default_kind AS defaultKind,
  default_expression AS defaultExpression, comment, compression_codec AS codec, is_in_primary_key AS inPrimaryKey,
  is_in_sorting_key AS inSortingKey, is_in_partition_key AS inPartitionKey,
  data_compressed_bytes AS compressedBytes, data_uncompressed_bytes AS uncompressedBytes`;

type NumberText = string | number | null;
type TableRow = { readonly [Name in Exclude<keyof TableFacts, "columns">]: TableFacts[Name] & (string | NumberText) };
type ColumnRow = { readonly database: string; readonly table: string } & {
  readonly [Name in keyof ColumnFacts]: ColumnFacts[Name] extends string ? string : string | number;
};

/** All tables that are not the engine's own; columns on request. */
export async function readTableInventory(
  client: ClickHouseClient,
  options: QueryOptions,
  withColumns: boolean,
): Promise<TableInventory> {
  const databases = await client.rows<DatabaseFacts>(
    `SELECT name, engine, comment FROM system.databases WHERE name NOT IN ${ownDatabaseList} ORDER BY name LIMIT ${maxDatabases}`,
    options,
  );
  const tables = await client.rows<TableRow>(
    `SELECT ${tableColumns} FROM system.tables WHERE database NOT IN ${ownDatabaseList} AND NOT is_temporary
     ORDER BY database, name LIMIT ${maxTables + 1}`,
    options,
  );
  const columns = withColumns
    ? await client.rows<ColumnRow>(
        `SELECT ${columnColumns} FROM system.columns WHERE database NOT IN ${ownDatabaseList}
         ORDER BY database, table, position LIMIT ${maxColumns + 1}`,
        options,
      )
    : [];
  const truncated = tables.length > maxTables || columns.length > maxColumns || databases.length === maxDatabases;
  return { truncated, databases, tables: joined(tables.slice(0, maxTables), columns.slice(0, maxColumns)) };
}

/** One table, also one of the engine's own; undefined when there is none. */
export async function readOneTable(
  client: ClickHouseClient,
  options: QueryOptions,
  database: string,
  name: string,
): Promise<TableFacts | undefined> {
  const bound = { ...options, params: { database: parameterText(database), name: parameterText(name) } };
  const tables = await client.rows<TableRow>(
    `SELECT ${tableColumns} FROM system.tables WHERE database = {database:String} AND name = {name:String}`,
    bound,
  );
  const columns = await client.rows<ColumnRow>(
    `SELECT ${columnColumns} FROM system.columns WHERE database = {database:String} AND table = {name:String}
     ORDER BY position`,
    bound,
  );
  return joined(tables, columns)[0];
}

function joined(tables: readonly TableRow[], columns: readonly ColumnRow[]): TableFacts[] {
  const byTable = new Map<string, ColumnFacts[]>();
  for (const row of columns) {
    const key = JSON.stringify([row.database, row.table]);
    const list = byTable.get(key);
    if (list === undefined) byTable.set(key, [toColumn(row)]);
    else list.push(toColumn(row));
  }
  let statements = 0;
  return tables.map((row) => {
    statements += row.createStatement.length;
    return {
      ...row,
      rows: toNumber(row.rows),
      bytes: toNumber(row.bytes),
      uncompressedBytes: toNumber(row.uncompressedBytes),
      parts: toNumber(row.parts),
      createStatement: statements > maxStatements ? "" : row.createStatement,
      columns: byTable.get(JSON.stringify([row.database, row.name])) ?? [],
    };
  });
}

function toColumn({ database: _, table: __, ...row }: ColumnRow): ColumnFacts {
  return {
    ...row,
    inPrimaryKey: Number(row.inPrimaryKey) === 1,
    inSortingKey: Number(row.inSortingKey) === 1,
    inPartitionKey: Number(row.inPartitionKey) === 1,
    compressedBytes: Number(row.compressedBytes),
    uncompressedBytes: Number(row.uncompressedBytes),
  };
}

function toNumber(value: NumberText): number | null {
  return value === null ? null : Number(value);
}
