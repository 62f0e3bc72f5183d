import { TimeChart, type TimeChartProps } from "./time-chart.tsx";
import type { ChartSeries } from "./types.ts";

type HistoryChartProps = Omit<TimeChartProps, "times" | "series"> & {
  /** The range of values that the server keeps at equal steps. */
  readonly history: { readonly from: string; readonly to: string; readonly stepSeconds: number };
  readonly lines: readonly ChartSeries[];
};

/** A chart of a history, over its range unless another one is given. */
export function HistoryChart({ history, lines, ...chart }: HistoryChartProps) {
  const from = Date.parse(history.from);
  const times = (lines[0]?.values ?? []).map((_, at) => from + at * history.stepSeconds * 1000);
  return <TimeChart from={from} to={Date.parse(history.to)} {...chart} times={times} series={lines} />;
}
