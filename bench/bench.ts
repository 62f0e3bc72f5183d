/** The exports of a benchmark file `NAME.bench.ts`, and shared statistics. */

export type BenchResult = {
  /** The human table: one object per row. */
  readonly rows: readonly Record<string, string | number>[];
  /** The machine line: `ratio` is ours against the peer of the same run. */
  readonly summary: { readonly ratio: number } & Record<string, number | string | boolean>;
};

export type BenchModule = {
  readonly description: string;
  run(): Promise<BenchResult>;
};

/** The p-th percentile (0 to 100, nearest rank) of the samples. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50);
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
