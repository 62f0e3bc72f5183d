import type { CSSProperties, ReactNode } from "react";
import { useOperation } from "../../api/queries.ts";
import { type DashboardPanel, type PipePanel, pipeMetrics } from "../../charts/dashboard.ts";
import { HistoryChart } from "../../charts/history-chart.tsx";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { type DashboardVariable, type VariableValues, withVariables } from "../../charts/variables.ts";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { ChartPanelContent } from "./chart-panel-content.tsx";
import { cursorKey } from "./cursor-key.ts";
import css from "./dashboards.module.css";
import { StatementPanelContent } from "./statement-panel-content.tsx";

export type PanelGridProps = {
  readonly panels: readonly DashboardPanel[];
  readonly range: TimeRange;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
  readonly variables: readonly DashboardVariable[];
  readonly values: VariableValues;
  /** Controls of a panel while the dashboard is edited. */
  readonly tools?: (panel: DashboardPanel) => ReactNode;
  readonly onPanel?: (panel: DashboardPanel) => void;
};

/** The panels on twelve columns, below each other on narrow screens. All charts over time share one cursor. */
export function PanelGrid({ panels, range, bounds, onRange, variables, values, tools, onPanel }: PanelGridProps) {
  return (
    <ul className={css.grid} aria-label="Charts">
      {panels.map((panel) => (
        <li
          key={panel.id}
          data-panel={panel.id}
          className={`surface ${css.panel}`}
          style={{ "--columns": panel.width } as CSSProperties}
        >
          {tools?.(panel)}
          {panel.kind === "chart" && (
            <ChartPanelContent
              panel={panel}
              filtered={withVariables(panel.chart, variables, values)}
              {...{ range, bounds, onRange }}
            />
          )}
          {panel.kind === "pipe" && <PipePanelContent panel={panel} {...{ bounds, onRange }} />}
          {panel.kind === "statement" && (
            <StatementPanelContent panel={panel} {...{ bounds, onRange }} onChange={onPanel} />
          )}
        </li>
      ))}
    </ul>
  );
}

type PipePanelContentProps = {
  readonly panel: PipePanel;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
};

/** A number of a pipe over time, from the history that the server keeps: no service is asked. */
function PipePanelContent({ panel, bounds, onRange }: PipePanelContentProps) {
  const { title, serviceId, pipeId, metric, height } = panel;
  const query = { from: new Date(bounds.from).toISOString(), to: new Date(bounds.to).toISOString() };
  const input = { params: { serviceId, pipeId }, query };
  const metrics = useOperation("getPipeMetrics", input, { pace: "never", keep: true });
  return (
    <>
      <h2 className={`cut ${css.title}`}>{title}</h2>
      <Answer query={metrics} loading={<Skeleton lines={6} />}>
        {(history) => (
          <HistoryChart
            name={title}
            history={history}
            lines={[{ name: pipeMetrics[metric].title, values: history.series[metric] ?? [] }]}
            {...bounds}
            unit={pipeMetrics[metric].unit}
            height={height}
            hideHeader
            hideLegend
            syncKey={cursorKey}
            onRange={onRange}
          />
        )}
      </Answer>
    </>
  );
}
