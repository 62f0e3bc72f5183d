/** The schemas and tables of a database, with what is needed to choose among them. */
import type pg from "pg";
import { badRequest } from "../../lib/errors.ts";
import type { Listed, ListingPage, SourceListing } from "../contract/listing.ts";
import type { SourceTable } from "./declaration/durable.ts";
import type { SourceServer } from "./declaration/kind.ts";
import { readTables, type TableName } from "./server/catalog.ts";
import { postgresSourceError } from "./server/errors.ts";
import { login } from "./server/login.ts";
import { sessionSql } from "./server/session.ts";
import { columnPlan } from "./tables/types.ts";

type TableFacts = TableName &
  Pick<Listed<"tables">, "isPartitioned" | "isReadable" | "primaryKey" | "publications"> & {
    readonly estimatedRows: number | null;
    readonly bytes: number | null;
  };

/** Locked tables hold the listing up for a second at most. */
const boundsSql = "SET lock_timeout = '1s'; SET statement_timeout = '8s'";

const listable = `
  c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'`;

const schemasSql = `
  SELECT n.nspname::text AS name, pg_catalog.count(*)::int4 AS tables
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE ${listable} GROUP BY n.nspname ORDER BY n.nspname COLLATE "C"`;

/** The table itself, or its partitions. The functions of Postgres that return them wait for locks on the table. */
const leaves = `(
      WITH RECURSIVE tree(oid) AS (
        SELECT p.oid
        UNION ALL
        SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid WHERE p.relkind = 'p'
      ) SELECT oid FROM tree
    ) AS t JOIN pg_catalog.pg_class l ON l.oid = t.oid AND l.relkind = 'r'`;

const bytesSql = `(SELECT pg_catalog.sum(pg_catalog.pg_table_size(l.oid))::float8 FROM ${leaves})`;

/** Publications of whole schemas exist since Postgres 15. */
const inSchemaSql = `EXISTS (
          SELECT FROM pg_catalog.pg_publication_namespace n WHERE n.pnpubid = u.oid AND n.pnnspid = p.relnamespace)`;

/** A partitioned table has the rows and bytes of its leaves. A negative estimate means that there is none. */
const tablesSql = (bytes: string, inSchema: string) => `
  WITH page AS (
    SELECT c.oid, c.relnamespace, n.nspname, c.relname, c.relkind
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE ${listable} AND ($1::text IS NULL OR n.nspname = $1::text)
      AND ($2::text IS NULL OR (n.nspname COLLATE "C", c.relname COLLATE "C") > ($2::text, $3::text))
    ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C" LIMIT $4::int4
  )
  SELECT p.nspname::text AS schema, p.relname::text AS name, p.relkind = 'p' AS "isPartitioned",
    pg_catalog.has_schema_privilege(p.nspname, 'USAGE') AND pg_catalog.has_table_privilege(p.oid, 'SELECT')
      AS "isReadable",
    (SELECT CASE WHEN pg_catalog.min(l.reltuples) >= 0 THEN pg_catalog.sum(l.reltuples)::float8 END FROM ${leaves})
      AS "estimatedRows",
    ${bytes} AS bytes,
    ARRAY(
      SELECT a.attname::text FROM pg_catalog.pg_index i
      CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = p.oid AND a.attnum = k.attnum
      WHERE i.indrelid = p.oid AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place
    ) AS "primaryKey",
    ARRAY(
      SELECT u.pubname::text FROM pg_catalog.pg_publication u
      WHERE u.puballtables
        OR EXISTS (SELECT FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = u.oid AND r.prrelid = p.oid)
        OR ${inSchema}
      ORDER BY 1
    ) AS publications
  FROM page p ORDER BY p.nspname COLLATE "C", p.relname COLLATE "C"`;

/** Tables in the order of schema and name; the cursor is both of the last one. */
export async function listTables(source: SourceServer, page: ListingPage, signal: AbortSignal): Promise<SourceListing> {
  const after = page.cursor === undefined ? undefined : tableOfCursor(page.cursor);
  await using client = await login(source, {}, signal);
  try {
    await client.query(sessionSql);
    await client.query(boundsSql);
    const facts = await readFacts(client, page, after);
    const known = new Map((await readTables(client, facts)).map((table) => [cursorOf(table), table]));
    const tables = facts.flatMap((fact) => listedTable(fact, known.get(cursorOf(fact))));
    const last = facts.at(-1);
    return {
      ...(after === undefined
        ? { schemas: (await client.query<{ name: string; tables: number }>(schemasSql)).rows }
        : {}),
      tables,
      ...(facts.length === page.limit && last !== undefined ? { nextCursor: cursorOf(last) } : {}),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw postgresSourceError(error);
  }
}

/** Reading the size of a table needs a lock on it. Where one is not available, the whole page has no sizes. */
async function readFacts(client: pg.Client, { within, limit }: ListingPage, after: TableName | undefined) {
  const values = [within ?? null, after?.schema ?? null, after?.name ?? null, limit];
  const { rows } = await client.query<{ version: number }>(
    "SELECT pg_catalog.current_setting('server_version_num')::int4 AS version",
  );
  const inSchema = (rows[0]?.version ?? 0) >= 150_000 ? inSchemaSql : "false";
  const read = async (bytes: string) => (await client.query<TableFacts>(tablesSql(bytes, inSchema), values)).rows;
  try {
    return await read(bytesSql);
  } catch (error) {
    if ((error as { code?: string }).code !== "55P03") throw error;
    return await read("NULL");
  }
}

const identities: Readonly<Record<string, Listed<"tables">["replicaIdentity"]>> = {
  d: "default",
  n: "nothing",
  f: "full",
  i: "index",
};

/** None when the table was dropped between two statements. */
function listedTable(
  { estimatedRows, bytes, ...facts }: TableFacts,
  table: SourceTable | undefined,
): Listed<"tables">[] {
  if (table === undefined) return [];
  const columns = table.columns.map((column) => ({
    name: column.name,
    type: column.typeName,
    nullable: !column.notNull,
    destinationType: columnPlan(column, { nullable: true, key: table.key.includes(column.name) }).type,
  }));
  return [
    {
      ...facts,
      ...(estimatedRows === null ? {} : { estimatedRows }),
      ...(bytes === null ? {} : { bytes }),
      replicaIdentity: identities[table.replicaIdentity] ?? "default",
      columns,
    },
  ];
}

function cursorOf({ schema, name }: TableName): string {
  return JSON.stringify([schema, name]);
}

function tableOfCursor(cursor: string): TableName {
  try {
    const [schema, name] = JSON.parse(cursor) as unknown[];
    if (typeof schema === "string" && typeof name === "string") return { schema, name };
  } catch {
    // Reported below, like every text that is not a cursor.
  }
  throw badRequest("cursor", "is not a nextCursor of this listing");
}
