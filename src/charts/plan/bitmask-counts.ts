/**
 * Counts alone, of the same rows under different conditions: which of the conditions a row meets is one small number,
 * and rows are counted once by bucket and that number instead of once per series. The series are added up here.
 */

import type { RowDecoding } from "../answer/row-decoding.ts";
import type { ConditionOf } from "./conditions.ts";

export type BitmaskCounts = {
  readonly select: string;
  readonly groupBy: string;
  readonly decoding: RowDecoding;
};

type CountOptions = {
  /** SQL of the index of a row's bucket, and which indexes there may be. */
  readonly index: string;
  readonly base: number;
  readonly count: number;
  /** What to call the small number: no column's name. */
  readonly name: string;
  /** SQL of the number of rows that a row stands for. */
  readonly weight: string | undefined;
};

/**
 * The query's parts for counts under the conditions, one per series, of a table without groups; undefined when there
 * are too many buckets. Buckets in which no series counts anything have no row.
 */
export function bitmaskCountsOf(
  conditions: readonly ConditionOf[],
  { name, weight, ...bucket }: CountOptions,
): BitmaskCounts | undefined {
  const flags = [...new Set(conditions.filter(({ sql }) => sql !== undefined).map(({ flag }) => flag))];
  const needed = bucket.count * 2 ** flags.length;
  // One or two bytes, which the engine counts by a plain array. The upper bits of the index drop out.
  if (needed > 2 ** 16) return undefined;
  const bits = needed <= 2 ** 8 ? 8 : 16;
  const buckets = 2 ** (bits - flags.length);
  const met = flags.map((flag, i) => `if(${flag}, ${1 << i}, 0)`).reduce((all, one) => `bitOr(${all}, ${one})`);
  // The bit of each series; 0 for those without a condition, which count every row.
  const bitOf = conditions.map(({ sql, flag }) => (sql === undefined ? 0 : 1 << flags.indexOf(flag)));
  return {
    select: `SELECT bitOr(bitShiftLeft(toUInt${bits}(${bucket.index}), ${flags.length}), ${met}) AS ${name}, ${weight === undefined ? "count()" : `sum(${weight})`}`,
    groupBy: `GROUP BY ${name}`,
    decoding: { kind: "bitmask", base: bucket.base, flags: flags.length, modulus: buckets, bits: bitOf },
  };
}
