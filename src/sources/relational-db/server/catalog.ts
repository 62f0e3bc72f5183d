/** What the source's catalog says about its tables: columns, types, keys. */
import type pg from "pg";
import type { SourceColumn, SourceTable, SourceType } from "../declaration/durable.ts";

export type TableName = { readonly schema: string; readonly name: string };

/**
 * Reads tables of the connected database, in the order of `names`; one that does not exist is left out. Run
 * `sessionSql` on the client before: missing values are printed as its session says.
 */
export async function readTables(client: pg.ClientBase, names: readonly TableName[]): Promise<SourceTable[]> {
  const wanted = [names.map(({ schema }) => schema), names.map(({ name }) => name)];
  const { rows: tables } = await client.query<TableRow>(tablesSql, wanted);
  const oids = tables.map(({ oid }) => oid);
  const { rows: columns } = await client.query<ColumnRow>(columnsSql, [oids]);
  const { rows: types } = await client.query<TypeRow>(typesSql, [columns.map(({ typeOid }) => typeOid)]);
  const typesByOid = new Map(types.map((row) => [row.oid, row]));
  const found = new Map<string, SourceTable>();
  for (const table of tables) {
    const own = columns.filter((row) => row.table === table.oid).map((row) => sourceColumn(row, typesByOid));
    found.set(keyOf(table), { ...table, columns: own });
  }
  return names.map((name) => found.get(keyOf(name))).filter((table) => table !== undefined);
}

/** The columns that a pipe replicates, by attnum: neither generated nor excluded. */
export function replicatedColumns(table: SourceTable, excluded: readonly string[] = []): SourceColumn[] {
  return table.columns.filter((column) => !column.generated && !excluded.includes(column.name));
}

type TableRow = Omit<SourceTable, "columns">;
type ColumnRow = Omit<SourceColumn, "type" | "missingValue" | "isUntold"> & {
  readonly table: number;
  readonly missingValue: string | null;
  readonly isUntold: boolean;
};
type TypeRow = {
  readonly oid: number;
  readonly name: string;
  readonly kind: string;
  readonly delimiter: string;
  readonly element: number | null;
  readonly base: number | null;
  readonly baseTypmod: number;
  readonly baseDimensions: number;
  readonly labels: string[] | null;
};

const tablesSql = `
  SELECT c.oid::int8::float8 AS oid, n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS relkind,
    c.relreplident::text AS "replicaIdentity",
    ARRAY(
      SELECT a.attname::text
      FROM pg_catalog.pg_index i
      CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
      WHERE i.indrelid = c.oid AND k.place <= i.indnkeyatts
        AND CASE WHEN c.relreplident = 'i' THEN i.indisreplident ELSE i.indisprimary END
      ORDER BY k.place
    ) AS key
  FROM unnest($1::text[], $2::text[]) AS w(schema, name)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name`;

/**
 * A missing value is an array of one element of the column's type: its text is the element of a text array. A rewrite
 * writes it into the rows and forgets it; a table that was never rewritten has a file with its own number.
 */
const columnsSql = `
  SELECT a.attrelid::int8::float8 AS table, a.attname::text AS name, a.attnum::int4 AS attnum,
    a.atttypid::int8::float8 AS "typeOid", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "typeName",
    a.atttypmod AS typmod, a.attndims::int4 AS dimensions, a.attnotnull AS "notNull", a.attgenerated <> '' AS generated,
    (a.attmissingval::text::text[])[1] AS "missingValue",
    NOT a.atthasmissing AND (a.atthasdef OR t.typdefaultbin IS NOT NULL) AND EXISTS (
      SELECT FROM (SELECT relid FROM pg_catalog.pg_partition_tree(a.attrelid) UNION SELECT a.attrelid) AS f(relid)
      WHERE pg_catalog.pg_relation_filenode(f.relid) <> f.relid) AS "isUntold"
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attrelid, a.attnum`;

/** The types of columns, with their element and base types. An array type is one that its element type names. */
const typesSql = `
  WITH RECURSIVE needed(oid) AS (
    SELECT unnest($1::oid[])
    UNION
    SELECT next.oid
    FROM needed JOIN pg_catalog.pg_type t ON t.oid = needed.oid
    CROSS JOIN LATERAL (
      SELECT t.typbasetype WHERE t.typbasetype <> 0
      UNION ALL
      SELECT e.oid FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid
    ) AS next(oid)
  )
  SELECT t.oid::int8::float8 AS oid,
    CASE WHEN n.nspname = 'pg_catalog' THEN t.typname::text ELSE n.nspname || '.' || t.typname END AS name,
    t.typtype::text AS kind, t.typdelim::text AS delimiter, e.oid::int8::float8 AS element,
    NULLIF(t.typbasetype, 0)::int8::float8 AS base, t.typtypmod AS "baseTypmod", t.typndims::int4 AS "baseDimensions",
    CASE WHEN t.typtype = 'e' THEN
      ARRAY(SELECT l.enumlabel::text FROM pg_catalog.pg_enum l WHERE l.enumtypid = t.oid ORDER BY l.enumsortorder)
    END AS labels
  FROM (SELECT DISTINCT oid FROM needed) AS d
  JOIN pg_catalog.pg_type t ON t.oid = d.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid`;

const kinds: Readonly<Record<string, SourceType["kind"]>> = {
  b: "base",
  c: "composite",
  d: "domain",
  e: "enum",
  m: "multirange",
  p: "pseudo",
  r: "range",
};

function sourceColumn(
  { table: _, missingValue, isUntold, ...row }: ColumnRow,
  types: ReadonlyMap<number, TypeRow>,
): SourceColumn {
  const type = sourceType(row.typeOid, row.typmod, types);
  const dimensions = type.kind === "domain" ? domainDimensions(row.typeOid, types) : row.dimensions;
  return {
    ...row,
    type,
    dimensions,
    ...(missingValue === null ? {} : { missingValue }),
    ...(isUntold ? { isUntold } : {}),
  };
}

function sourceType(oid: number, typmod: number, types: ReadonlyMap<number, TypeRow>): SourceType {
  const row = types.get(oid);
  if (row === undefined) return { oid, name: "unknown", kind: "base", typmod, delimiter: "," };
  const { name, delimiter, element, base, labels } = row;
  return {
    oid,
    name,
    kind: element === null ? (kinds[row.kind] ?? "base") : "array",
    typmod,
    delimiter,
    ...(element === null ? {} : { element: sourceType(element, typmod, types) }),
    ...(base === null ? {} : { base: sourceType(base, row.baseTypmod, types) }),
    ...(labels === null ? {} : { labels }),
  };
}

function domainDimensions(oid: number, types: ReadonlyMap<number, TypeRow>): number {
  const row = types.get(oid);
  if (row === undefined || row.base === null) return 0;
  return Math.max(row.baseDimensions, domainDimensions(row.base, types));
}

function keyOf({ schema, name }: TableName): string {
  return JSON.stringify([schema, name]);
}
