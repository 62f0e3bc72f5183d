/** Quantiles of explicit-bounds histograms, by linear interpolation. Pure. */

export type Histogram = {
  /** Upper bounds, ascending; the last bucket is open. */
  readonly bounds: readonly number[];
  /** One count more than bounds. */
  readonly counts: readonly number[];
};

/**
 * The value below which `level` (0 to 1) of all observations lie, taking those of a bucket as evenly spread. The first
 * bucket begins at 0 when its bound is positive, else it is a point at its bound; the open last bucket is a point at
 * the last bound. Histograms of different bounds are added as they are. Null without observations or bounds.
 */
export function quantileOf(histograms: readonly Histogram[], level: number): number | null {
  const used = histograms.filter(({ bounds, counts }) => bounds.length > 0 && total(counts) > 0);
  const all = used.reduce((sum, { counts }) => sum + total(counts), 0);
  if (all === 0) return null;
  const rank = level * all;
  const edges = [...new Set(used.flatMap((histogram) => [lowest(histogram), ...histogram.bounds]))].sort(
    (a, b) => a - b,
  );
  let previousEdge = edges[0] as number;
  let reached = below(used, previousEdge, true);
  if (rank <= reached) return previousEdge;
  for (const edge of edges.slice(1)) {
    // The points at an edge (first and last buckets) jump; what is between two edges is even.
    const before = below(used, edge, false);
    if (rank <= before) return previousEdge + ((rank - reached) / (before - reached)) * (edge - previousEdge);
    reached = below(used, edge, true);
    if (rank <= reached) return edge;
    previousEdge = edge;
  }
  return previousEdge;
}

export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function lowest({ bounds }: Histogram): number {
  return Math.min(0, bounds[0] as number);
}

/** Observations below `value`, and those of the points at it if `withPoints`. */
function below(histograms: readonly Histogram[], value: number, withPoints: boolean): number {
  const isBelow = (bound: number) => bound < value || (withPoints && bound === value);
  return histograms.reduce((sum, histogram) => {
    const { bounds, counts } = histogram;
    const last = bounds.length - 1;
    const open = isBelow(bounds[last] as number) ? (counts[last + 1] ?? 0) : 0;
    return sum + closedBelow(histogram, value, isBelow(bounds[0] as number)) + open;
  }, 0);
}

/** The closed buckets' part below `value`; `firstIsBelow` decides on a first bucket that is a point. */
function closedBelow({ bounds, counts }: Histogram, value: number, firstIsBelow: boolean): number {
  let sum = 0;
  for (const [i, upper] of bounds.entries()) {
    const count = counts[i] ?? 0;
    if (i === 0 && upper <= 0) {
      sum += firstIsBelow ? count : 0;
      continue;
    }
    const lower = i === 0 ? 0 : (bounds[i - 1] as number);
    const share = upper === lower ? Number(value >= upper) : (value - lower) / (upper - lower);
    sum += count * Math.min(1, Math.max(0, share));
  }
  return sum;
}
