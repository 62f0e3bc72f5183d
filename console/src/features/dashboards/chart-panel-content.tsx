import { Link, useNavigate } from "@tanstack/react-router";
import { Bell, ChartLine, Ellipsis } from "lucide-react";
import { ChartAway } from "../../charts/chart-away.tsx";
import { ChartView } from "../../charts/chart-view.tsx";
import type { ChartPanel } from "../../charts/dashboard.ts";
import { type ChartDefinition, missingIn } from "../../charts/definition.ts";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { type ChartAnswer, useChart, useKeptAnswer } from "../../charts/use-chart.ts";
import { chartRefusal } from "../../charts/watchable.ts";
import { newAlertAddress } from "../../lib/addresses.ts";
import { classes } from "../../lib/classes.ts";
import { IconButton } from "../../parts/button.tsx";
import { Menu, MenuItem } from "../../parts/menu.tsx";
import { ErrorState, Skeleton } from "../../parts/states.tsx";
import { cursorKey } from "./cursor-key.ts";
import css from "./dashboards.module.css";

type ChartPanelContentProps = {
  readonly panel: ChartPanel;
  /** Its chart with the values of variables. */
  readonly filtered: ChartDefinition;
  readonly range: TimeRange;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
};

/** A chart of a source with its title, which leads to Explore. */
export function ChartPanelContent({ panel, filtered, range, bounds, onRange }: ChartPanelContentProps) {
  const { title } = panel;
  const query = useChart(filtered, bounds);
  const { error } = query;
  const shown = useKeptAnswer(filtered, query, bounds);
  const missing = missingIn(filtered);
  const isAsleep = error?.code === "SERVICE_ASLEEP";
  return (
    <>
      <div className={classes(css.head, isOverTime(filtered) && css.besideButton)}>
        <h2 className={`cut ${css.title}`}>
          <Link to="/explore" search={{ ...range, chart: filtered }}>
            {title}
          </Link>
        </h2>
        <ChartPanelMenu title={title} chart={filtered} range={range} />
      </div>
      {missing !== undefined && <p className="muted">{missing}</p>}
      {isAsleep && shown === undefined && (
        <div className={css.asleep}>
          <ChartAway chart={filtered} bounds={bounds} />
        </div>
      )}
      {error !== null && !isAsleep && <ErrorState error={error} onRetry={() => void query.refetch()} />}
      {shown === undefined && error === null && missing === undefined && <Skeleton lines={6} />}
      {shown !== undefined && <Shown {...{ panel, filtered, onRange }} {...shown} />}
    </>
  );
}

/** Such a chart has a button of its own beside the title. */
function isOverTime({ display }: ChartDefinition): boolean {
  return display !== "table" && display !== "number";
}

type ShownProps = {
  readonly panel: ChartPanel;
  readonly filtered: ChartDefinition;
  readonly answer: ChartAnswer;
  readonly bounds: Bounds;
  readonly isKept: boolean;
  readonly onRange: (fromMs: number, toMs: number) => void;
};

function Shown({ panel: { title, chart, height }, filtered, answer, bounds, isKept, onRange }: ShownProps) {
  return (
    <>
      <ChartView
        name={title}
        definition={chart}
        answer={answer}
        bounds={bounds}
        height={height}
        hideHeader
        onRange={onRange}
        {...(isOverTime(chart) ? { syncKey: cursorKey } : {})}
      />
      {(isKept || answer.meta.cache === "stale") && (
        <ChartAway chart={filtered} bounds={bounds} keptAt={answer.meta.asOf} />
      )}
    </>
  );
}

type ChartPanelMenuProps = {
  readonly title: string;
  /** With the values of variables. */
  readonly chart: ChartDefinition;
  readonly range: TimeRange;
};

/** What can be done with a chart of a dashboard. */
function ChartPanelMenu({ title, chart, range }: ChartPanelMenuProps) {
  const navigate = useNavigate();
  return (
    <Menu trigger={<IconButton small label={`Actions of ${title}`} icon={Ellipsis} />}>
      <MenuItem icon={ChartLine} onSelect={() => void navigate({ to: "/explore", search: { ...range, chart } })}>
        Open in Explore
      </MenuItem>
      <MenuItem
        needs="developer"
        refusal={chartRefusal(chart)}
        icon={Bell}
        onSelect={() => void navigate(newAlertAddress(title, chart))}
      >
        Create alert
      </MenuItem>
    </Menu>
  );
}
