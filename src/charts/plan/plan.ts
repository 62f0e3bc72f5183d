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

/**
 * Types of the expressions of one query. Every part of a query is written first; then the engine is asked once for the
 * types that only it knows; then the parts are finished with them.
 */
export type TypedExpression = { readonly sql: string; readonly type: ColumnType; readonly volatile: boolean };

/** A part of a query that can be finished once the types are known. */
export type Typed<T> = () => T;

/** Without a type, the engine is asked for it. */
type Written = { readonly sql: string; readonly type?: ColumnType | undefined; readonly volatile: boolean };

export class ExpressionTypes {
  readonly #unknown: string[] = [];
  #types: readonly ColumnType[] | undefined;

  /** The expressions with their types, to be called after `ask`. */
  expect(expressions: readonly Written[]): Typed<TypedExpression[]> {
    const places = expressions.map(({ sql, type }) => (type === undefined ? this.#unknown.push(sql) - 1 : -1));
    return () => {
      const types = this.#types;
      if (types === undefined) throw new TypeError("the types are not known yet");
      return expressions.map(({ sql, type, volatile }, i) => {
        return { sql, volatile, type: type ?? (types[places[i] as number] as ColumnType) };
      });
    };
  }

  /** Asks the engine once for all types that are not known. Throws AppError for expressions that have none. */
  async ask(input: Pick<PlanInput, "typesOf">, params: Params): Promise<void> {
    this.#types = this.#unknown.length === 0 ? [] : await input.typesOf(this.#unknown, params);
  }
}
