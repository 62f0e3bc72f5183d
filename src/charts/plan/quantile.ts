/**
 * Quantiles that are the same at every refresh: nothing is sampled, and nothing depends on the order in which the
 * engine reads. They are exact as long as the values fit into memory, beyond that of values rounded by a thousandth.
 */

export type QuantileOf = {
  readonly level: number;
  /** SQL of the number. */
  readonly value: string;
  /** Whether the number may be infinite. */
  readonly float: boolean;
  /** SQL of the condition on a row. */
  readonly filtered: string | undefined;
  readonly exact: boolean;
};

/** How far a value may be rounded where the quantile is not exact, relative to the value. */
const rounding = 0.001;
/** Bytes of one value, with the spare capacity of the engine's arrays. */
const bytesPerValue = 16;

/** Whether the values of so many quantiles of a table of so many rows fit into half of the memory of a query. */
export function fitsExactly(rows: number | undefined, quantiles: number, memoryBytes: number): boolean {
  return rows !== undefined && rows * quantiles * bytesPerValue <= memoryBytes / 2;
}

/** With interpolation between the two nearest values where it is exact. */
export function quantileSql({ level, value, float, filtered, exact }: QuantileOf): string {
  if (exact) {
    return filtered === undefined
      ? `quantileExactInclusive(${floatText(level)})(${value})`
      : `quantileExactInclusiveIf(${floatText(level)})(${value}, ${filtered})`;
  }
  const parameters = `${rounding}, ${floatText(level)}`;
  const finite = float ? `isFinite(${value})` : undefined;
  const among = [filtered, finite].filter((one) => one !== undefined);
  return among.length === 0
    ? `quantileDD(${parameters})(${value})`
    : `quantileDDIf(${parameters})(${value}, ${among.join(" AND ")})`;
}

/** Takes sampled rows, each of which represents several: `among` selects the rows that count. */
export function weightedQuantileSql(
  { level, exact }: Pick<QuantileOf, "level" | "exact">,
  { number, weight, among }: { number: string; weight: string; among: string },
): string {
  // Without the lower bits of a double there are few different values.
  const rounded = `reinterpretAsFloat64(bitAnd(reinterpretAsUInt64(${number}), ${coarse}))`;
  return `quantileExactWeightedInterpolatedIf(${floatText(level)})(${exact ? number : rounded}, ${weight}, ${among})`;
}

/** Sign, exponent and the upper 10 bits of a double's fraction. */
const coarse = (2n ** 64n - 2n ** 42n).toString();

/** The engine takes a level for a double only when it has a point. */
function floatText(level: number): string {
  return Number.isInteger(level) ? `${level}.0` : String(level);
}
