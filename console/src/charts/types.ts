/** What charts draw. Times are milliseconds since 1970-01-01, ascending; a value that is not known is null. */
export type ChartSeries = {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Series of one measure share an axis and are stacked; without it, all do. */
  readonly measure?: number;
  /** Its values add up to nothing with those of others, as averages: it is never stacked. */
  readonly isAlone?: boolean;
  /** All groups that a limit left out. */
  readonly isRest?: boolean;
};

export type ChartDisplay = "line" | "bar" | "stacked";

/** What a value counts, which decides how it is written. */
export type Unit = "number" | "bytes" | "milliseconds" | "seconds" | "percent" | "perSecond" | "bytesPerSecond";

export type ChartData = {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Width of a bucket in ms, where a value is that of a bucket which begins at its time. */
  readonly bucketMs?: number | undefined;
  /** The places of whole buckets; those before and after it are cut by the range or not finished. All without it. */
  readonly whole?: Places | undefined;
};

/** From the first place to the one after the last. */
export type Places = { readonly first: number; readonly end: number };
