/** What charts draw. Times are milliseconds since 1970-01-01, ascending; a value that is not known is null. */
export type ChartSeries = {
  readonly name: string;
  readonly values: readonly (number | null)[];
};

export type ChartDisplay = "line" | "bar" | "stacked";

/** What a value counts, which decides how it is written. */
export type Unit = "number" | "bytes" | "milliseconds" | "seconds" | "percent" | "perSecond" | "bytesPerSecond";

export type ChartData = {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
};
