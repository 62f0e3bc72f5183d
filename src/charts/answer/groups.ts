/** Which groups an answer has, and in which order: limits, the row of the others, tables without buckets. Pure. */
import type { ChartRequest, SeriesItem } from "../../api/charts.ts";
import type { Cell } from "../plan/cells.ts";
import { compareGroups, compareRows, type Row } from "./rows.ts";

/** The value by which groups are ranked. */
export type Ranking = { readonly column: number; readonly ascending: boolean } | "group";

/** What a limit ranks groups by: the greatest values of the first series, unless the request says otherwise. */
export function rankingOf({ orderBy, order }: ChartRequest): Ranking {
  if (orderBy === "group") return "group";
  return { column: Number(orderBy?.slice("series_".length) ?? 0), ascending: order === "asc" };
}

/** Keeps the groups that rank first, each by its best bucket; among equals the first in order of group. */
export function limitGroups(
  rows: readonly Row[],
  limit: number,
  ranking: Ranking = { column: 0, ascending: false },
): { rows: Row[]; left: Row[]; leftGroups: number } {
  const best = new Map<string, { group: readonly Cell[]; value: number }>();
  for (const { group, values } of rows) {
    const key = JSON.stringify(group);
    const value = ranking === "group" ? 0 : rankOf(values[ranking.column], ranking.ascending);
    const known = best.get(key);
    if (known === undefined || value > known.value) best.set(key, { group, value });
  }
  if (best.size <= limit) return { rows: [...rows], left: [], leftGroups: 0 };
  const ranked = [...best].sort(([, a], [, b]) => compareNumbers(b.value, a.value) || compareGroups(a.group, b.group));
  const kept = new Set(ranked.slice(0, limit).map(([key]) => key));
  const isKept = ({ group }: Row) => kept.has(JSON.stringify(group));
  return {
    rows: rows.filter(isKept),
    left: rows.filter((row) => !isKept(row)),
    leftGroups: best.size - limit,
  };
}

/** Values that are not numbers come last, in both directions. */
function rankOf(value: Cell | undefined, ascending: boolean): number {
  if (typeof value !== "number") return Number.NEGATIVE_INFINITY;
  return ascending ? -value : value;
}

function compareNumbers(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** One row per bucket for the groups that were left out. Only of aggregates that are made of those of parts. */
export function othersOf(left: readonly Row[], items: readonly SeriesItem[]): Row[] {
  const rows = new Map<number, Cell[]>();
  for (const { bucket, values } of left) {
    const known = rows.get(bucket);
    rows.set(
      bucket,
      known === undefined ? [...values] : known.map((value, i) => allOrAbort(value, values[i] ?? null, items[i])),
    );
  }
  return [...rows].map(([bucket, values]) => ({ bucket, group: [], values, others: true }));
}

function allOrAbort(a: Cell, b: Cell, item: SeriesItem | undefined): Cell {
  if (typeof a !== "number") return b;
  if (typeof b !== "number") return a;
  if (item?.aggFn === "min") return Math.min(a, b);
  return item?.aggFn === "max" ? Math.max(a, b) : a + b;
}

/** The rows of a table without buckets in the order asked for; the row of the others is last. */
export function ordered(rows: readonly Row[], request: ChartRequest): Row[] {
  const ranking = rankingOf(request);
  const direction = request.order === "desc" ? -1 : 1;
  return [...rows].sort((a, b) => {
    if (a.others !== b.others) return a.others === true ? 1 : -1;
    if (ranking === "group") return direction * compareGroups(a.group, b.group);
    const [x, y] = [a, b].map(({ values }) => rankOf(values[ranking.column], ranking.ascending)) as [number, number];
    return compareNumbers(y, x) || compareRows(a, b);
  });
}
