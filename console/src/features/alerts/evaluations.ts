/** What the evaluations of an alert say: values over time, and when the state changed. */
import { groupText } from "../../charts/answer.ts";
import { type ChartDefinition, seriesNames } from "../../charts/definition.ts";
import type { ChartData, ChartSeries } from "../../charts/types.ts";
import type { Alert, AlertState, Evaluation } from "./alert.ts";
import { stateMetrics } from "./states.ts";

type Reading = Evaluation["readings"][number];
type Threshold = Pick<Alert, "threshold" | "thresholdMax" | "thresholdType">;

/** More lines than this are not told apart. */
const maxLines = 7;

/** The values by the end of their window, oldest first, with the threshold as a line. `names` are of the series. */
export function readingsChart(evaluations: readonly Evaluation[], alert: Alert, names: readonly string[]): ChartData {
  const oldestFirst = evaluations.toReversed();
  const times = oldestFirst.map(({ windowEnd }) => Date.parse(windowEnd));
  const lines = new Map<string, (number | null)[]>();
  for (const [at, { readings }] of oldestFirst.entries()) {
    for (const reading of readings) {
      const name = readingName(reading, names);
      const values = lines.get(name) ?? new Array<number | null>(times.length).fill(null);
      values[at] = reading.value;
      lines.set(name, values);
    }
  }
  const series = [...lines].map(([name, values]) => ({ name, values }));
  const known = ({ values }: ChartSeries) => values.filter((value) => value !== null).length;
  const most = series.toSorted((a, b) => known(b) - known(a)).slice(0, maxLines);
  // The server lists those that fire first, so their order differs from window to window.
  most.sort((a, b) => a.name.localeCompare(b.name));
  return { times, series: [...most, ...thresholdLines(alert, times.length)] };
}

/** `web`, `web · p95 of duration`; without groups the name of the series. */
export function readingName({ group, series }: Reading, names: readonly string[]): string {
  const name = names[series] ?? `series ${series + 1}`;
  const text = groupText({ group });
  if (text === "") return name;
  return names.length > 1 ? `${text} · ${name}` : text;
}

/** What the values are, in the order of `series`. */
export function valueNames(
  { source, metric }: Pick<Alert, "source" | "metric">,
  chart: ChartDefinition | undefined,
): readonly string[] {
  if (source === "saved_search") return ["rows"];
  if (metric !== undefined) return [stateMetrics[metric].label];
  return chart === undefined ? [] : seriesNames(chart.series);
}

/** A line at the threshold, and one at its upper end. */
export function thresholdLines({ threshold, thresholdMax, thresholdType }: Threshold, length: number): ChartSeries[] {
  const line = (name: string, value: number) => ({ name, values: new Array<number>(length).fill(value) });
  const isRange = (thresholdType === "between" || thresholdType === "not_between") && thresholdMax !== undefined;
  return isRange
    ? [line("lower threshold", threshold), line("upper threshold", thresholdMax)]
    : [line("threshold", threshold)];
}

export type StateChange = {
  readonly key: string;
  readonly at: string;
  /** Undefined: nothing is known of the time before. */
  readonly before: AlertState | undefined;
  readonly state: AlertState;
  readonly message: string | null;
};

/** The evaluations that changed the state, newest first. `isWhole`: nothing came before the oldest one. */
export function stateChanges(evaluations: readonly Evaluation[], isWhole: boolean): StateChange[] {
  return evaluations.flatMap(({ evaluatedAt: at, windowStart, state, message }, index) => {
    const before = evaluations[index + 1]?.state;
    if (before === state || (before === undefined && !isWhole)) return [];
    return [{ key: `${windowStart} ${at}`, at, before, state, message }];
  });
}
