/** Sums of series that are drawn on top of each other. The library draws no stacks by itself. */
import type { ChartSeries } from "./types.ts";

type Values = (number | null)[];

/**
 * The upper edge of each series when all are put on top of each other, the first one at the bottom. A missing value
 * adds nothing; where no series has a value, all edges are missing. A hidden series adds nothing and has no edge.
 */
export function stackEdges(series: readonly ChartSeries[], isVisible: (index: number) => boolean): Values[] {
  const length = Math.max(0, ...series.map(({ values }) => values.length));
  const isKnown = Array.from({ length }, (_, at) =>
    series.some(({ values }, index) => isVisible(index) && values[at] != null),
  );
  const below = new Float64Array(length);
  return series.map(({ values }, index) => {
    if (!isVisible(index)) return new Array<number | null>(length).fill(null);
    return isKnown.map((known, at) => {
      if (!known) return null;
      below[at] = (below[at] ?? 0) + (values[at] ?? 0);
      return below[at];
    });
  });
}
