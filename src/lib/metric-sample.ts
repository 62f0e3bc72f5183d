/** One value of the Prometheus text at `/metrics`. Samples of one name must have the same label names. */
export type MetricSample = {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
