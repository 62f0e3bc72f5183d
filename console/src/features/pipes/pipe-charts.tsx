import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { HistoryChart } from "../../charts/history-chart.tsx";
import type { Unit } from "../../charts/types.ts";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { usePipeParams } from "./use-pipe.ts";

type Metrics = import("../../api/client.ts").OperationResult<"getPipeMetrics">;
type MetricName = keyof Metrics["series"];

type ChartOfPipe = { readonly name: string; readonly metric: MetricName; readonly unit: Unit };

const charts: readonly ChartOfPipe[] = [
  { name: "Rows per second", metric: "rowsPerSecond", unit: "perSecond" },
  { name: "Bytes per second", metric: "bytesPerSecond", unit: "bytesPerSecond" },
  { name: "Lag", metric: "lagSeconds", unit: "seconds" },
  { name: "Age of the newest data when it was loaded", metric: "latencySeconds", unit: "seconds" },
  { name: "Refused per second", metric: "errorsPerSecond", unit: "perSecond" },
];

/** Rates, lag and errors over the last hours; gaps are times of which nothing is known. */
export function PipeCharts({ hours, isEnded }: { readonly hours: number; readonly isEnded: boolean }) {
  const params = usePipeParams();
  // One step of 5 s is the finest; the range moves with it, so that equal questions are one.
  const step = hours === 1 ? 10 : hours * 60;
  const metrics = useOperation("getPipeMetrics", { params, query: rangeOf(hours, step) as never }, { keep: true });
  return (
    <Answer query={metrics} loading={<Skeleton lines={8} />}>
      {(answer) =>
        charts.every(({ metric }) => !isKnown(answer, metric, isEnded)) ? (
          <EmptyState title="Nothing was measured in this range">
            A longer range may have some numbers. A pipe that ended within seconds has none.
          </EmptyState>
        ) : (
          <div className="cells">
            {charts
              .filter(({ metric }) => isKnown(answer, metric, isEnded))
              .map(({ metric, ...chart }) => (
                <HistoryChart
                  key={metric}
                  history={answer}
                  lines={[{ name: chart.name, values: answer.series[metric] }]}
                  {...chart}
                  height={160}
                  syncKey="pipe"
                  hideLegend
                />
              ))}
          </div>
        )
      }
    </Answer>
  );
}

/** The default range ends now; longer ones are asked for by their begin. */
function rangeOf(hours: number, step: number): { from?: string; step: number } {
  if (hours === 1) return { step };
  const stepMs = step * 1000;
  const from = Math.floor((serverNow() - hours * 3_600_000) / stepMs) * stepMs;
  return { from: new Date(from).toISOString(), step };
}

/** The zeros of a pipe that has ended tell nothing. */
function isKnown({ series }: Metrics, metric: MetricName, isEnded: boolean): boolean {
  return series[metric].some((value) => value !== null && !(isEnded && value === 0));
}
