/** From the rows of the plans to the rows of the answer: merged, divided, limited, filled, sorted. Pure. */
import type { Fill, SeriesItem } from "../../api/charts.ts";
import { AppError, badRequest } from "../../lib/errors.ts";
import type { Formula } from "../formula.ts";
import type { Buckets } from "../plan/buckets.ts";
import type { Cell, PlanRow } from "../plan/cells.ts";
import type { Series } from "../plan/plan.ts";

/** One row of the answer. `values` has one member per column of the answer. */
export type Row = {
  readonly bucket: number;
  readonly group: readonly Cell[];
  readonly values: readonly Cell[];
  /** The row of all groups that a limit left out; its own group is empty. */
  readonly others?: true;
};

export type PlanResult = { readonly series: readonly Series[]; readonly rows: readonly PlanRow[] };

/** An answer of more rows than this is refused. */
export const maxRows = 1_000_000;

/** What a series says of a bucket and group in which it has no row: nothing was counted and nothing is known. */
export function emptyValue(item: SeriesItem): number | null {
  return ["count", "count_distinct", "sum", "increase"].includes(item.aggFn) ? 0 : null;
}

/** Joins the plans by bucket and group. Each plan's rows come sorted, with distinct keys. */
export function mergePlans(plans: readonly PlanResult[], items: readonly SeriesItem[]): Row[] {
  const [only] = plans;
  if (plans.length === 1 && only !== undefined && only.series.every((series, i) => series.index === i)) {
    return only.rows as Row[];
  }
  const rows = new Map<string, { bucket: number; group: readonly Cell[]; values: Cell[] }>();
  for (const plan of plans) {
    for (const { bucket, group, values } of plan.rows) {
      // JSON keeps the members of a group apart whatever characters they hold.
      const key = `${bucket}${JSON.stringify(group)}`;
      let row = rows.get(key);
      if (row === undefined) {
        row = { bucket, group, values: items.map(emptyValue) };
        rows.set(key, row);
      }
      for (const [i, series] of plan.series.entries()) row.values[series.index] = values[i] as Cell;
    }
  }
  return [...rows.values()].sort(compareRows);
}

/**
 * One value per row: the first series divided by the second. No numerator counts as 0; no or a zero divisor is null.
 */
export function ratioOf(rows: readonly Row[]): Row[] {
  return rows.map(({ bucket, group, values: [top, bottom] }) => {
    const divisor = typeof bottom === "number" ? bottom : 0;
    const value = divisor === 0 ? null : (typeof top === "number" ? top : 0) / divisor;
    return { bucket, group, values: [value !== null && Number.isFinite(value) ? value : null] };
  });
}

/** Adds the formula's value as the last one of each row. */
export function withFormula(rows: readonly Row[], formula: Formula): Row[] {
  return rows.map(({ bucket, group, values }) => {
    const numbers = values.map((value) => (typeof value === "number" ? value : null));
    return { bucket, group, values: [...values, formula(numbers)] };
  });
}

/**
 * A row for every bucket of the range and every group that occurs (the one group of an ungrouped request always does).
 * Values that are missing or null become null, 0, or the group's value before. Throws AppError above `maxRows`.
 */
export function fillGaps(
  rows: readonly Row[],
  fill: Fill,
  buckets: Buckets,
  shape: { groups: number; values: number },
): Row[] {
  if (fill === "none") return [...rows];
  const groups = new Map<string, readonly Cell[]>();
  if (shape.groups === 0) groups.set("[]", []);
  const found = new Map<string, Row>();
  for (const row of rows) {
    const key = JSON.stringify(row.group);
    groups.set(key, row.group);
    found.set(`${row.bucket}${key}`, row);
  }
  if (groups.size * buckets.count > maxRows) {
    throw badRequest("fill", `would answer ${groups.size * buckets.count} rows, at most ${maxRows} are allowed`);
  }
  const ordered = [...groups].sort(([, a], [, b]) => compareGroups(a, b));
  const last = new Map<string, readonly Cell[]>();
  const nothing: Cell[] = Array.from({ length: shape.values }, () => null);
  // Days of a Date column may begin before the range does.
  const first = Math.min(buckets.first, rows[0]?.bucket ?? buckets.first);
  const filled: Row[] = [];
  for (let bucket = first; bucket <= buckets.last; bucket += 1) {
    if (buckets.isSkipped(bucket)) continue;
    for (const [key, group] of ordered) {
      const values = found.get(`${bucket}${key}`)?.values ?? nothing;
      const before = last.get(key) ?? nothing;
      const complete =
        fill === "null" ? values : values.map((value, i) => value ?? (fill === "zero" ? 0 : (before[i] ?? null)));
      last.set(key, complete);
      filled.push({ bucket, group, values: complete });
    }
  }
  return filled;
}

/** The engine stops one row after the limit; an answer that was cut must not look whole. */
export function refuseTooMany(count: number): void {
  if (count <= maxRows) return;
  throw new AppError("QUERY_FAILED", `the answer has more than ${maxRows} rows; set a limit of groups`);
}

export function compareRows(a: Row, b: Row): number {
  return a.bucket - b.bucket || compareGroups(a.group, b.group);
}

/** As the engine orders: numbers by value, text by code point, null last. */
export function compareGroups(a: readonly Cell[], b: readonly Cell[]): number {
  for (const [i, left] of a.entries()) {
    const order = compareCells(left, b[i] as Cell);
    if (order !== 0) return order;
  }
  return 0;
}

function compareCells(a: Cell, b: Cell): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  if (isWideInteger(a) || isWideInteger(b)) {
    const [x, y] = [integerOf(a), integerOf(b)];
    if (x !== undefined && y !== undefined) return x < y ? -1 : x > y ? 1 : 0;
  }
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (typeof a === "object" || typeof b === "object") return compareText(JSON.stringify(a), JSON.stringify(b));
  const x = Number(a);
  const y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? compareText(String(a), String(b)) : x - y;
}

/** An integer that a JSON number cannot hold is text. */
function isWideInteger(cell: Cell): boolean {
  return typeof cell === "string" && /^-?\d{16,78}$/.test(cell);
}

function integerOf(cell: Cell): bigint | undefined {
  if (typeof cell === "number") return Number.isSafeInteger(cell) ? BigInt(cell) : undefined;
  return isWideInteger(cell) ? BigInt(cell as string) : undefined;
}

/** Compares by code point: UTF-16 order differs from the engine's byte order beyond the basic plane. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return fixSurrogate(x) - fixSurrogate(y);
  }
  return a.length - b.length;
}

function fixSurrogate(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
