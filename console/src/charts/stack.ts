/** Sums of series that are drawn on top of each other. The library draws no stacks by itself. */
import type { ChartSeries } from "./types.ts";

type Values = (number | null)[];

/** Series of one stack are drawn on top of each other; stacks overlap, each from the axis up. */
export function stackOf({ measure = 0, isAlone }: ChartSeries, index: number): string {
  return isAlone === true ? `alone ${index}` : `measure ${measure}`;
}

/**
 * The upper edge of each series when those of one stack are put on top of each other, the first one at the bottom. A
 * missing value adds nothing; where no series of a stack has a value, all its edges are missing. A hidden series adds
 * nothing and has no edge.
 */
export function stackEdges(series: readonly ChartSeries[], isVisible: (index: number) => boolean): Values[] {
  const length = Math.max(0, ...series.map(({ values }) => values.length));
  const tops = new Map<string, Values>();
  series.forEach((one, index) => {
    const stack = stackOf(one, index);
    const top = tops.get(stack) ?? new Array<number | null>(length).fill(null);
    tops.set(stack, isVisible(index) ? top.map((known, at) => known ?? (one.values[at] == null ? null : 0)) : top);
  });
  return series.map((one, index) => {
    if (!isVisible(index)) return new Array<number | null>(length).fill(null);
    const below = tops.get(stackOf(one, index)) as Values;
    const edge = below.map((value, at) => (value === null ? null : value + (one.values[at] ?? 0)));
    tops.set(stackOf(one, index), edge);
    return edge;
  });
}

/** Where bars begin: at the end of a shorter one at the same time that is drawn before them and would be covered. */
export function barBases(drawnBefore: readonly Values[], ends: Values): number[] {
  return ends.map((end, at) => {
    const isShorter = (other: number) => other * (end ?? 0) > 0 && Math.abs(other) < Math.abs(end ?? 0);
    const shorter = drawnBefore.map((other) => other[at] ?? 0).filter(isShorter);
    return shorter.reduce((base, other) => (Math.abs(other) > Math.abs(base) ? other : base), 0);
  });
}

/** The part of its bucket that a bar takes: what is drawn later is narrower, and hides no bar of an equal value. */
export function barShare(stacks: readonly (readonly number[])[], index: number): number {
  return 0.43 * (1 + (stacks.findIndex((stack) => stack.includes(index)) + 1) / stacks.length);
}
