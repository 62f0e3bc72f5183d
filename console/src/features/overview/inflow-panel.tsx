import type { OperationResult } from "../../api/client.ts";
import { useOperations } from "../../api/queries.ts";
import { late } from "../../parts/late.tsx";
import { Panel } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import css from "./overview.module.css";

type Pipe = OperationResult<"listAllPipes">["pipes"][number];

const HistoryChart = late(async () => (await import("../../charts/history-chart.tsx")).HistoryChart);

/** More lines cannot be told apart. */
const shownPipes = 6;
const height = 180;

/** Rows per second of the busiest pipes in the last hour. The chart is loaded after the page is there. */
export function InflowPanel({ pipes }: { readonly pipes: readonly Pipe[] }) {
  // In an order that does not change with their rates, so that the colours stay.
  const shown = pipes.slice(0, shownPipes).toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const inputs = shown.map(({ serviceId, id }) => ({ params: { serviceId, pipeId: id }, query: { step: 60 } }));
  const answers = useOperations("getPipeMetrics", inputs, "slow");
  const first = answers.find((answer) => answer !== undefined);
  if (shown.length === 0) return null;
  if (first === undefined)
    return (
      <Panel title="Rows in, last hour">
        <div className={css.chart} />
      </Panel>
    );
  const lines = shown.flatMap(({ name }, index) => {
    const values = answers[index]?.series.rowsPerSecond;
    return values === undefined
      ? []
      : [{ name, values: first.series.rowsPerSecond.map((_, at) => values[at] ?? null) }];
  });
  return (
    <Panel title="Rows in, last hour">
      <div className={css.chart}>
        {lines.length === 0 ? (
          <EmptyState title="Nothing flowed in" />
        ) : (
          <HistoryChart
            hideHeader
            name="Rows in per second, by pipe"
            unit="perSecond"
            height={height}
            history={first}
            lines={lines}
          />
        )}
      </div>
    </Panel>
  );
}
