/** What a service contains, and what of it cannot be moved. Reads only. */
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { ownDatabaseList } from "../../clickhouse/sql.ts";
import { hasColumnTtl, hasInnerTable } from "./statements.ts";

export type MovedKind = "table" | "view" | "materializedView" | "dictionary" | "function";

export type CatalogueObject = {
  readonly kind: MovedKind;
  /** Empty for functions, which belong to no database. */
  readonly database: string;
  readonly name: string;
  readonly engine: string;
  readonly statement: string;
  /** The expressions of a table's sorting key; empty when there are none. */
  readonly sortingKey: string;
  readonly rows: number;
  /** Uncompressed. */
  readonly bytes: number;
};

export type MoveProblem = {
  /** `database.name`; absent for the server itself. */
  readonly object?: string;
  readonly message: string;
};

export type Catalogue = {
  /** Without those that cannot be moved. */
  readonly objects: readonly CatalogueObject[];
  readonly problems: readonly MoveProblem[];
};

type Row = {
  database: string;
  name: string;
  engine: string;
  create_table_query: string;
  sorting_key: string;
  total_rows: string | null;
  total_bytes_uncompressed: string | null;
};

/** Databases whose tables are where they are; others are windows to another system. */
const databaseEngines = new Set(["Atomic", "Ordinary", "Overlay"]);

/** Throws ClickHouseError. */
export async function readCatalogue(client: ClickHouseClient, signal: AbortSignal): Promise<Catalogue> {
  const databases = await client.rows<{ name: string; engine: string }>(
    `SELECT name, engine FROM system.databases WHERE name NOT IN ${ownDatabaseList} ORDER BY name`,
    { signal },
  );
  const problems: MoveProblem[] = databases
    .filter(({ engine }) => !databaseEngines.has(engine))
    .map(({ name, engine }) => ({ object: name, message: `the database has the engine ${engine}` }));
  const known = new Set(databases.filter(({ engine }) => databaseEngines.has(engine)).map(({ name }) => name));
  const rows = await client.rows<Row>(
    `SELECT database, name, engine, create_table_query, sorting_key, total_rows, total_bytes_uncompressed FROM system.tables
     WHERE database NOT IN ${ownDatabaseList} AND NOT is_temporary AND NOT startsWith(name, '.inner')
     ORDER BY database, name`,
    { signal },
  );
  const objects: CatalogueObject[] = await functionsOf(client, signal);
  for (const row of rows) {
    if (!known.has(row.database)) continue;
    const kind = kindOf(row.engine);
    const message = kind === undefined ? unmovable(row.engine) : problemOf(kind, row);
    if (message !== undefined) problems.push({ object: `${row.database}.${row.name}`, message });
    if (message !== undefined || kind === undefined) continue;
    objects.push({
      ...{ kind, database: row.database, name: row.name, engine: row.engine, statement: row.create_table_query },
      sortingKey: row.sorting_key,
      rows: Number(row.total_rows ?? 0),
      bytes: Number(row.total_bytes_uncompressed ?? 0),
    });
  }
  return { objects, problems };
}

async function functionsOf(client: ClickHouseClient, signal: AbortSignal): Promise<CatalogueObject[]> {
  const rows = await client.rows<{ name: string; create_query: string }>(
    "SELECT name, create_query FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY name",
    { signal },
  );
  return rows.map(({ name, create_query: statement }) => ({
    ...{ kind: "function", database: "", name, engine: "", statement, sortingKey: "", rows: 0, bytes: 0 },
  }));
}

function kindOf(engine: string): MovedKind | undefined {
  if (engine === "View") return "view";
  if (engine === "MaterializedView") return "materializedView";
  if (engine === "Dictionary") return "dictionary";
  return engine === "Null" ||
    /^(Replacing|Summing|Aggregating|Collapsing|VersionedCollapsing|Coalescing)?MergeTree$/.test(engine)
    ? "table"
    : undefined;
}

function unmovable(engine: string): string {
  return `the engine ${engine} cannot be moved; copy its rows into a MergeTree table, or leave it behind`;
}

function problemOf(kind: MovedKind, { create_table_query: statement }: Row): string | undefined {
  if (kind === "materializedView" && hasInnerTable(statement)) {
    return "the materialized view stores its rows itself; recreate it with TO a table, or leave it behind";
  }
  if (statement.includes("[HIDDEN]")) {
    return "its definition contains a secret that the engine does not show; create it on the server yourself";
  }
  if (kind === "table" && hasColumnTtl(statement)) {
    return "a column has a TTL of its own, so that both sides could not be compared; remove it for the move";
  }
  return undefined;
}
