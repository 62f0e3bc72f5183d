/** `PARTITION BY` of destination tables: what an expression may be. */
import { tableExpressionProblem } from "../../../clickhouse/guard.ts";

export type Partitioned = {
  readonly engine: "ReplacingMergeTree" | "MergeTree" | "Null";
  /** All columns of the destination table that are the source's. */
  readonly columns: readonly string[];
  /** Columns of the sorting key. */
  readonly key: readonly string[];
};

/**
 * Why a table cannot be divided by the expression; undefined when it can. The engine replaces the older version of a
 * row only within a partition. So all versions of a row have to be in one, also the deleted one, of which the source
 * tells nothing but the key.
 */
export function partitionProblem(expression: string, { engine, columns, key }: Partitioned): string | undefined {
  if (engine === "Null") return "must be absent with tableEngine Null, which stores no rows";
  const problem = tableExpressionProblem(expression, new Set(columns));
  if (problem !== undefined || engine === "MergeTree") return problem;
  if (tableExpressionProblem(expression, new Set(key)) === undefined) return undefined;
  const why = "an update of another column would leave the old version of the row in another partition";
  return `must use columns of the sorting key alone (${key.join(", ")}): ${why}. Or map the table with tableEngine MergeTree`;
}
