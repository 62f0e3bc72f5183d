/** How a table is cut into parts for its copy: ranges of pages of the table and of its partitions. */
import type pg from "pg";
import type { JsonObject } from "../source.ts";
import type { TableName } from "./catalog.ts";

/** What is kept of the cut, so that the same number means the same pages after a restart. */
export type Cut = {
  readonly leaves: readonly Leaf[];
  /** As the source estimates them. */
  readonly rows: number;
};
type Leaf = { readonly schema: string; readonly name: string; readonly pages: number; readonly step: number };

export type Part = {
  readonly index: number;
  readonly leaf: TableName;
  /** Condition on the rows' place; the last range of a table is open, because tables grow. */
  readonly where: string;
};

/** A part is held in memory as a whole. */
const maxPartBytes = 64 * 2 ** 20;

/** Cuts by the rows wanted in a part, and by size where rows are large. */
export async function cutTable(client: pg.Client, oid: number, rowsPerPart: number): Promise<Cut> {
  const { rows } = await client.query<LeafRow>(leavesSql, [oid]);
  const leaves = rows.map(({ schema, name, pages, tuples, bytes }) => {
    const rowsPerPage = pages > 0 && tuples > 0 ? Math.max(tuples / pages, 1) : 60;
    const byRows = Math.floor(rowsPerPart / rowsPerPage);
    const byBytes = Math.floor((maxPartBytes / 2 / Math.max(bytes, 1)) * Math.max(pages, 1));
    return { schema, name, pages, step: Math.max(1, Math.min(byRows, byBytes)) };
  });
  const total = rows.reduce((sum, row) => sum + Math.max(row.tuples, 0), 0);
  return { leaves, rows: Math.round(total) };
}

type LeafRow = { schema: string; name: string; pages: number; tuples: number; bytes: number };

/** Pages are measured; rows per page are as of the last ANALYZE. */
const leavesSql = `
  SELECT n.nspname::text AS schema, c.relname::text AS name,
    (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int)::float8 AS pages,
    CASE WHEN c.relpages > 0 AND c.reltuples >= 0 THEN
      c.reltuples / c.relpages * (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int)
    ELSE -1 END::float8 AS tuples,
    pg_catalog.pg_table_size(c.oid)::float8 AS bytes
  FROM (SELECT relid FROM pg_catalog.pg_partition_tree($1::oid::regclass) WHERE isleaf
    UNION SELECT $1::oid FROM pg_catalog.pg_class r WHERE r.oid = $1::oid AND r.relkind = 'r') AS leaf(relid)
  JOIN pg_catalog.pg_class c ON c.oid = leaf.relid AND c.relkind = 'r'
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  ORDER BY 1, 2`;

/** Numbered from 0. */
export function partsOf(cut: Cut): Part[] {
  const parts: Part[] = [];
  for (const { schema, name, pages, step } of cut.leaves) {
    for (let from = 0; from === 0 || from < pages; from += step) {
      const isLast = from + step >= pages;
      const end = isLast ? "" : ` AND ctid < '(${from + step},0)'::tid`;
      parts.push({ index: parts.length, leaf: { schema, name }, where: `ctid >= '(${from},0)'::tid${end}` });
    }
  }
  return parts;
}

export function cutToJson(cut: Cut): JsonObject {
  return cut as unknown as JsonObject;
}

export function cutFromJson(json: JsonObject): Cut {
  return json as unknown as Cut;
}
