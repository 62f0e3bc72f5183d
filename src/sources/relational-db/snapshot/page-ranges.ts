/** How a table is divided for its copy: ranges of pages of the table and of its partitions. */
import type pg from "pg";
import type { RangePlan } from "../declaration/durable.ts";
import type { TableName } from "../server/catalog.ts";

export type PageRange = {
  readonly index: number;
  readonly leaf: TableName & Pick<RangePlan["leaves"][number], "file">;
  readonly from: number;
  /** The first page after it. The last range of a table is open, because tables grow. */
  readonly end: number | undefined;
  /** Ranges that are copied together at most. */
  readonly together: number;
};

/** A range has as much of the table at most. */
const maxPartBytes = 32 * 2 ** 20;
/** Ranges that are copied together have about as much of the table as one insert takes. */
const maxTogetherBytes = 64 * 2 ** 20;

/** Cuts by the rows wanted in a part, and by size where rows are large. */
export async function planRanges(client: pg.Client, oid: number, rowsPerPart: number): Promise<RangePlan> {
  const { rows } = await client.query<LeafRow>(leavesSql, [oid]);
  const leaves = rows.map(({ schema, name, pages, tuples, bytes, file }) => {
    const rowsPerPage = pages > 0 && tuples > 0 ? Math.max(tuples / pages, 1) : 60;
    const byRows = Math.floor(rowsPerPart / rowsPerPage);
    const pagesOf = (limit: number) => Math.max(1, Math.floor((limit / Math.max(bytes, 1)) * Math.max(pages, 1)));
    const step = Math.max(1, Math.min(byRows, pagesOf(maxPartBytes)));
    return { schema, name, pages, step, most: pagesOf(maxTogetherBytes), file };
  });
  const total = rows.reduce((sum, row) => sum + Math.max(row.tuples, 0), 0);
  return { leaves, rows: Math.round(total) };
}

type LeafRow = { schema: string; name: string; pages: number; tuples: number; bytes: number; file: number };

/** Pages are measured; rows per page are as of the last ANALYZE. */
const leavesSql = `
  SELECT n.nspname::text AS schema, c.relname::text AS name,
    (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int)::float8 AS pages,
    CASE WHEN c.relpages > 0 AND c.reltuples >= 0 THEN
      c.reltuples / c.relpages * (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int)
    ELSE -1 END::float8 AS tuples,
    pg_catalog.pg_table_size(c.oid)::float8 AS bytes, pg_catalog.pg_relation_filenode(c.oid)::int8::float8 AS file
  FROM (SELECT relid FROM pg_catalog.pg_partition_tree($1::oid::regclass) WHERE isleaf
    UNION SELECT $1::oid FROM pg_catalog.pg_class r WHERE r.oid = $1::oid AND r.relkind = 'r') AS leaf(relid)
  JOIN pg_catalog.pg_class c ON c.oid = leaf.relid AND c.relkind = 'r'
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  ORDER BY 1, 2`;

/** Numbered from 0. */
export function rangesOf(cut: RangePlan): PageRange[] {
  const parts: PageRange[] = [];
  for (const { schema, name, pages, step, most, file } of cut.leaves) {
    const leaf = { schema, name, file };
    const together = Math.max(1, Math.floor((most ?? step) / step));
    for (let from = 0; from === 0 || from < pages; from += step) {
      const end = from + step >= pages ? undefined : from + step;
      parts.push({ index: parts.length, leaf, from, end, together });
    }
  }
  return parts;
}

/** Rows are where they were: none of the tables that were cut is gone or was rewritten since (`VACUUM FULL`). */
export function isInPlace(cut: RangePlan, now: RangePlan): boolean {
  return cut.leaves.every(({ schema, name, file }) =>
    now.leaves.some((leaf) => leaf.schema === schema && leaf.name === name && (file ?? leaf.file) === leaf.file),
  );
}

/**
 * Consecutive ranges as one unit of work, because an insert and the merges of its part cost more than a range: about
 * as many as one insert takes, but so that each of `readers` connections has one. Units of a table are of one size, so
 * that none is left over at the end. `isAlike`: they may be copied by one statement.
 */
export function groupRanges(
  parts: readonly PageRange[],
  readers: number,
  isAlike: (a: PageRange, b: PageRange) => boolean,
): PageRange[][] {
  const most = Math.max(1, Math.floor(parts.length / readers));
  return runsOf(parts, isAlike).flatMap((run) => {
    const count = Math.ceil(run.length / Math.min(most, (run[0] as PageRange).together));
    const start = (chunk: number) => Math.floor((chunk * run.length) / count);
    return Array.from({ length: count }, (_, chunk) => run.slice(start(chunk), start(chunk + 1)));
  });
}

/** Neighbours of one leaf that are alike. */
function runsOf(parts: readonly PageRange[], isAlike: (a: PageRange, b: PageRange) => boolean): PageRange[][] {
  const runs: PageRange[][] = [];
  for (const part of parts) {
    const run = runs.at(-1);
    const [first] = run ?? [];
    if (run !== undefined && first?.leaf === part.leaf && isAlike(first, part)) run.push(part);
    else runs.push([part]);
  }
  return runs;
}

/** Condition on the place of rows in consecutive ranges. */
export function rangeCondition(parts: readonly PageRange[]): string {
  const { from } = parts[0] as PageRange;
  const { end } = parts.at(-1) as PageRange;
  return `ctid >= '(${from},0)'::tid${end === undefined ? "" : ` AND ctid < '(${end},0)'::tid`}`;
}
