/** How the rows of a query become the rows of its plan. Plain data, so that another thread can do it. */

import { type HistogramSeries, readHistograms } from "../metrics/histogram-rows.ts";
import { unwrap } from "../plan/buckets.ts";
import { type Cell, type CellKind, type PlanRow, readCell, readGroup } from "../plan/cells.ts";

export type RowDecoding =
  /** A row of the query is a row of the plan: bucket, groups, values. */
  | {
      readonly kind: "rows";
      /** Only the remainder of a bucket's index by `modulus` was sent; the index is not below `base`. */
      readonly wrapped: { readonly base: number; readonly modulus: number } | undefined;
      /** Which of the groups are numbers in text. */
      readonly numbers: readonly boolean[];
      readonly values: readonly CellKind[];
      /** Rows in which every value is 0 belong to buckets that met no condition. */
      readonly dropEmpty: boolean;
    }
  /** Rows counted by bucket and by which conditions they meet: see `bitmaskCountsOf`. */
  | {
      readonly kind: "bitmask";
      readonly base: number;
      /** How many conditions there are: so many low bits of the first column. */
      readonly flags: number;
      readonly modulus: number;
      /** The bit of each series; 0 for those that count every row. */
      readonly bits: readonly number[];
    }
  | {
      readonly kind: "histogram";
      readonly numbers: readonly boolean[];
      readonly series: readonly HistogramSeries[];
    };

type Rows = readonly (readonly Cell[])[];

/** From the rows of `FORMAT JSONCompact` to rows of the plan, in order of bucket and group. Those of kind "rows" may be
 * read in parts. */
export function decodeRows(decoding: RowDecoding, rows: Rows): PlanRow[] {
  switch (decoding.kind) {
    case "rows":
      return readEach(decoding, rows);
    case "bitmask":
      return decodeBitmaskCounts(decoding, rows);
    case "histogram":
      return readHistograms(rows, decoding.numbers, decoding.series);
  }
}

function readEach(
  { wrapped, numbers, values, dropEmpty }: Extract<RowDecoding, { kind: "rows" }>,
  rows: Rows,
): PlanRow[] {
  const read = rows.map((row) => {
    const index = Number(row[0]);
    return {
      bucket: wrapped === undefined ? index : unwrap(index, wrapped.base, wrapped.modulus),
      group: numbers.map((isNumber, i) => readGroup(row[i + 1] ?? null, isNumber)),
      values: values.map((kind, i) => readCell(row[1 + numbers.length + i] ?? null, kind)),
    };
  });
  return dropEmpty ? read.filter((row) => row.values.some((value) => value !== 0)) : read;
}

function decodeBitmaskCounts(
  { base, flags, modulus, bits }: Extract<RowDecoding, { kind: "bitmask" }>,
  rows: Rows,
): PlanRow[] {
  const found = new Map<number, number[]>();
  for (const [key, rowsOfKey] of rows) {
    const index = unwrap(Number(key) >> flags, base, modulus);
    let counts = found.get(index);
    if (counts === undefined) {
      counts = bits.map(() => 0);
      found.set(index, counts);
    }
    for (const [i, bit] of bits.entries()) {
      if ((Number(key) & bit) === bit) counts[i] = (counts[i] as number) + Number(rowsOfKey);
    }
  }
  return [...found]
    .filter(([, counts]) => counts.some((count) => count !== 0))
    .sort(([a], [b]) => a - b)
    .map(([index, values]) => ({ bucket: index, group: [], values }));
}
