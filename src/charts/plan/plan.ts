/** What a planner hands to the runner: one query, and how to read its rows. */

import type { SourceRecord } from "../../api/chart-sources.ts";
import type { SeriesItem } from "../../api/charts.ts";
import type { ColumnType } from "../../clickhouse/types.ts";
import type { Reading } from "../answer/reading.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import type { Buckets } from "./buckets.ts";

/** A series with its position in the request. */
export type Series = { readonly index: number; readonly item: SeriesItem };

export type TimeRange = { readonly startMs: number; readonly endMs: number };

export type PlanInput = {
  readonly source: SourceRecord;
  readonly schema: TableSchema;
  readonly series: readonly Series[];
  readonly range: TimeRange;
  readonly buckets: Buckets;
  /** Groups beyond this many, ranked by the first series of the plan, need not be read; undefined keeps all. */
  readonly mostGroups: number | undefined;
  /** Asks the engine for the types of expressions over the table. */
  readonly typesOf: (expressions: readonly string[], params: Params) => Promise<readonly ColumnType[]>;
};

/** How a cell of the engine's JSON becomes a value of the answer. */
export type CellKind =
  /** A JSON number; integers beyond 2^53 are rounded to the nearest one. */
  | "number"
  /** As the engine wrote it; integers that a JSON number cannot hold stay text. */
  | "raw";

export type Cell = string | number | boolean | null | readonly Cell[] | { readonly [key: string]: Cell };

/** One row of a plan: a bucket, a group, and the values of the plan's series in their order. */
export type PlanRow = { readonly bucket: number; readonly group: readonly Cell[]; readonly values: readonly Cell[] };

export type QueryPlan = {
  readonly series: readonly Series[];
  readonly sql: string;
  readonly params: Params;
  readonly reading: Reading;
  /** The answer depends on when the query runs. */
  readonly volatile: boolean;
  /** The caller's own expressions are part of the query. */
  readonly fromCaller: boolean;
  /** The rollup that is read instead of the source's table. */
  readonly rollup: string | undefined;
};

/** Reads a cell as the kind says. Total. */
export function readCell(cell: Cell, kind: CellKind): Cell {
  if (typeof cell !== "string" || kind === "raw") return cell;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** Reads a cell of a group. */
export function readGroup(cell: Cell, integer: boolean): Cell {
  return integer ? readInteger(cell) : cell;
}

/** A 64-bit integer that the engine quoted: a number when a JSON number holds it exactly, else its digits. */
export function readInteger(cell: Cell): Cell {
  if (typeof cell !== "string" || !/^-?\d{1,16}$/.test(cell)) return cell;
  const value = Number(cell);
  return Number.isSafeInteger(value) ? value : cell;
}
