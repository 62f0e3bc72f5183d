/** Leaving out groups where the rows are: a chart of many groups sends only those that a limit keeps. */
import type { CellKind } from "./cells.ts";

type Grouped = {
  /** A name that no column of the table begins with, for our own. */
  readonly prefix: string;
  /** Names of the bucket and of the groups. */
  readonly names: readonly string[];
  /** Names of the values, and what the first one is. */
  readonly values: readonly string[];
  readonly kind: CellKind;
  /** The most groups to keep. */
  readonly most: number;
};

/**
 * The rows of a grouped query that belong to the groups whose first value is greatest in any bucket, ranked as
 * `limitGroups` does: what is no finite number comes last, equals go by group.
 */
export function ranked(query: string, { prefix, names, values, kind, most }: Grouped): string {
  const columns = [...names, ...values].join(", ");
  const groups = names.slice(1).join(", ");
  const first = kind === "number" ? `toFloat64(${values[0]})` : "NULL";
  const best = kind === "number" ? `max(if(isFinite(${first}), ${first}, NULL)) OVER (PARTITION BY ${groups})` : first;
  const rank = `dense_rank() OVER (ORDER BY ${prefix}b DESC NULLS LAST, ${groups})`;
  return [
    `SELECT ${columns} FROM (SELECT ${columns}, ${rank} AS ${prefix}r FROM (`,
    `SELECT ${columns}, ${best} AS ${prefix}b FROM (`,
    query,
    `))) WHERE ${prefix}r <= ${most}`,
  ].join("\n");
}
