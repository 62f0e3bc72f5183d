/** What a planner hands to the runner: one query, and how to read its rows. */

import type { SourceRecord } from "../../api/chart-sources.ts";
import type { SeriesItem } from "../../api/charts.ts";
import type { ColumnType } from "../../clickhouse/types.ts";
import type { RowDecoding } from "../answer/row-decoding.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import type { Buckets } from "./buckets.ts";

/** A series with its position in the request. */
export type Series = {
  readonly index: number;
  readonly item: SeriesItem;
  /** What stands before its members in paths of errors; `series.<index>.` when absent. */
  readonly prefix?: string;
};

/** The path of a member of the series in the request. */
export function pathOf({ index, prefix }: Series, member: string): string {
  return `${prefix ?? `series.${index}.`}${member}`;
}

export type TimeRange = { readonly startMs: number; readonly endMs: number };

export type PlanInput = {
  readonly source: SourceRecord;
  readonly schema: TableSchema;
  readonly series: readonly Series[];
  readonly range: TimeRange;
  readonly buckets: Buckets;
  /** Groups beyond this many, ranked by the first series of the plan, need not be read; undefined keeps all. */
  readonly mostGroups: number | undefined;
  /** Whether a quantile may hold all values of the table in memory. */
  readonly exactQuantiles: boolean;
  /** Tells the caller of what may not be meant as it is understood. */
  readonly warn: (path: string, message: string) => void;
  /** Asks the engine for the types of expressions over the table. */
  readonly typesOf: (expressions: readonly string[], params: Params) => Promise<readonly ColumnType[]>;
};

export type QueryPlan = {
  readonly series: readonly Series[];
  readonly sql: string;
  readonly params: Params;
  readonly decoding: RowDecoding;
  /** The answer depends on when the query runs. */
  readonly volatile: boolean;
  /** The caller's own expressions are part of the query. */
  readonly fromCaller: boolean;
  /** The rollup that is read instead of the source's table. */
  readonly rollup: string | undefined;
};
