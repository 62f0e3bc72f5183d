/** The publication of a pipe: which tables the source sends. */
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import type { TableMapping } from "../declaration/table-mapping.ts";
import { readTables, type TableName } from "./catalog.ts";
import { invalid } from "./errors.ts";
import { quoteName } from "./session.ts";
import type { ReplicationNames } from "./slot.ts";

export type Published = {
  /** Tables that the source did not send changes of before. */
  readonly added: readonly TableName[];
  /** The pipe's own publication has tables that the pipe does not have. */
  readonly hasOthers: boolean;
};

/**
 * Sees that the publication has the mapped tables that exist: makes the pipe's own one, or adds to it. The others are
 * told by their states. Throws AppError SOURCE_INVALID when a given one does not exist or lacks a table, and
 * SOURCE_UNAUTHORIZED when a table may not be added.
 */
export async function publishTables(
  client: pg.Client,
  names: ReplicationNames,
  mappings: readonly TableMapping[],
): Promise<Published> {
  const wanted = await readTables(client, mappings.map(tableOf));
  if (wanted.length === 0) {
    throw invalid("tableMappings", "none of the tables exists at the source: create one, or name others");
  }
  const found = await client.query("SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = $1", [names.publication]);
  if (found.rowCount === 0) {
    await createPublication(client, names, wanted);
    return { added: wanted, hasOthers: false };
  }
  const published = await readPublished(client, names.publication);
  const missing = wanted.filter((table) => !has(published, table));
  if (missing.length > 0) await addTables(client, names, missing);
  return { added: missing, hasOthers: names.ownPublication && published.some((table) => !has(wanted, table)) };
}

/** What the source sends of a table that it publishes. */
export type PublishedTable = TableName & {
  /** Kinds of changes that it does not send. */
  readonly unsent: string;
  /** Postgres 15 and newer: which rows it sends, and columns that it does not send. */
  readonly filter: string | null;
  readonly hidden: readonly string[];
};

// OFFSET 0: the row is made once for each table, and not for each of its columns.
const publishedSql = `
  SELECT t.schemaname::text AS schema, t.tablename::text AS name, j.one->>'rowfilter' AS filter,
    pg_catalog.concat_ws(', ', CASE WHEN NOT p.pubinsert THEN 'INSERT' END, CASE WHEN NOT p.pubupdate THEN 'UPDATE' END,
      CASE WHEN NOT p.pubdelete THEN 'DELETE' END, CASE WHEN NOT p.pubtruncate THEN 'TRUNCATE' END) AS unsent,
    ARRAY(
      SELECT a.attname::text FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = t.schemaname AND c.relname = t.tablename AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT (j.one->'attnames') OPERATOR(pg_catalog.?) a.attname::text
    ) AS hidden
  FROM pg_catalog.pg_publication_tables t JOIN pg_catalog.pg_publication p ON p.pubname = t.pubname
  CROSS JOIN LATERAL (SELECT pg_catalog.to_jsonb(t) AS one OFFSET 0) j
  WHERE t.pubname = $1`;

/** What a publication has; nothing for one that does not exist. */
export async function readPublished(client: pg.Client, publication: string): Promise<readonly PublishedTable[]> {
  return (await client.query<PublishedTable>(publishedSql, [publication])).rows;
}

/** Why changes of a table do not come, for each that the publication does not have, or has in part only. */
export async function unsentOf<T extends TableName>(
  client: pg.Client,
  names: ReplicationNames,
  tables: readonly T[],
  columnsOf: (table: T) => readonly string[],
): Promise<ReadonlyMap<T, string>> {
  const published = await readPublished(client, names.publication);
  const reasons = new Map<T, string>();
  for (const table of tables) {
    const found = published.find((row) => has([row], table));
    const why = leftOut(found, columnsOf(table));
    if (why !== undefined) reasons.set(table, `the publication "${names.publication}" ${why}`);
  }
  return reasons;
}

function leftOut(found: PublishedTable | undefined, columns: readonly string[]): string | undefined {
  if (found === undefined) return "does not have it any more: it was dropped, renamed or taken out";
  const { unsent, filter, hidden } = found;
  if (unsent !== "") return `does not publish ${unsent} any more`;
  if (filter !== null) return `leaves out rows (WHERE ${filter})`;
  const lost = hidden.filter((name) => columns.includes(name));
  return lost.length === 0 ? undefined : `leaves out the column ${lost.join(", ")}`;
}

/** Takes the tables that are not mapped out of the pipe's own publication. */
export async function unpublishOthers(
  client: pg.Client,
  names: ReplicationNames,
  mappings: readonly TableMapping[],
): Promise<void> {
  const wanted = mappings.map(tableOf);
  const others = (await readPublished(client, names.publication)).filter((table) => !has(wanted, table));
  if (others.length === 0) return;
  await client.query(`ALTER PUBLICATION ${quoteName(names.publication)} DROP TABLE ${listOf(others)}`);
}

async function createPublication(client: pg.Client, names: ReplicationNames, tables: readonly TableName[]) {
  if (!names.ownPublication) {
    throw invalid("settings.publicationName", `publication "${names.publication}" does not exist`);
  }
  const publication = quoteName(names.publication);
  await client.query(
    `CREATE PUBLICATION ${publication} FOR TABLE ${listOf(tables)} WITH (publish_via_partition_root = true)`,
  );
}

async function addTables(client: pg.Client, names: ReplicationNames, tables: readonly TableName[]): Promise<void> {
  const statement = `ALTER PUBLICATION ${quoteName(names.publication)} ADD TABLE ${listOf(tables)}`;
  if (!names.ownPublication) {
    const lacks = `publication "${names.publication}" does not contain ${listOf(tables)}`;
    throw invalid("settings.publicationName", `${lacks}; let its owner run ${statement}`);
  }
  try {
    await client.query(statement);
  } catch (error) {
    if ((error as { code?: string }).code !== "42501") throw error;
    const message = `${(error as Error).message}: the pipe cannot publish ${listOf(tables)}`;
    throw new AppError("SOURCE_UNAUTHORIZED", `${message}. Let a superuser run ${statement}`, { cause: error });
  }
}

function tableOf({ sourceSchemaName: schema, sourceTable: name }: TableMapping): TableName {
  return { schema, name };
}

function has(tables: readonly TableName[], { schema, name }: TableName): boolean {
  return tables.some((table) => table.schema === schema && table.name === name);
}

function listOf(tables: readonly TableName[]): string {
  return tables.map(({ schema, name }) => `${quoteName(schema)}.${quoteName(name)}`).join(", ");
}
