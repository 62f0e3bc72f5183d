import type { CSSProperties, ReactNode } from "react";
import type { DashboardPanel } from "../../charts/dashboard.ts";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { type DashboardVariable, type VariableValues, withVariables } from "../../charts/variables.ts";
import { ChartPanelContent } from "./chart-panel-content.tsx";
import css from "./dashboards.module.css";
import { PipePanelContent } from "./pipe-panel-content.tsx";

export type PanelGridProps = {
  readonly panels: readonly DashboardPanel[];
  readonly range: TimeRange;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
  readonly variables: readonly DashboardVariable[];
  readonly values: VariableValues;
  /** Controls of a panel while the dashboard is edited. */
  readonly tools?: (panel: DashboardPanel, place: number) => ReactNode;
};

/** The panels on twelve columns, below each other on narrow screens. All charts over time share one cursor. */
export function PanelGrid({ panels, range, bounds, onRange, variables, values, tools }: PanelGridProps) {
  return (
    <ul className={css.grid} aria-label="Charts">
      {panels.map((panel, place) => (
        <li key={panel.id} className={`surface ${css.panel}`} style={{ "--columns": panel.width } as CSSProperties}>
          {tools?.(panel, place)}
          {panel.kind === "chart" ? (
            <ChartPanelContent
              panel={panel}
              filtered={withVariables(panel.chart, variables, values)}
              {...{ range, bounds, onRange }}
            />
          ) : (
            <PipePanelContent panel={panel} {...{ bounds, onRange }} />
          )}
        </li>
      ))}
    </ul>
  );
}
