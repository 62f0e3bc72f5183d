import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ChartView } from "../../charts/chart-view.tsx";
import type { ChartPanel } from "../../charts/dashboard.ts";
import { type ChartDefinition, missingIn } from "../../charts/definition.ts";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { type ChartAnswer, useChart, useKeptAnswer } from "../../charts/use-chart.ts";
import { classes } from "../../lib/classes.ts";
import { Button } from "../../parts/button.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { ErrorState, Skeleton } from "../../parts/states.tsx";
import { ChartPanelMenu } from "./chart-panel-menu.tsx";
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
  const [wake, setWake] = useState<"auto" | "never">("never");
  const query = useChart(filtered, bounds, { wake });
  const { error } = query;
  const shown = useKeptAnswer(query, bounds);
  const missing = missingIn(filtered);
  const isAsleep = error?.code === "SERVICE_ASLEEP";
  return (
    <>
      <div className={classes(css.head, isOverTime(filtered) && css.besideButton)}>
        <h2 className={css.title}>
          <Link to="/explore" search={{ ...range, chart: filtered }}>
            {title}
          </Link>
        </h2>
        <ChartPanelMenu title={title} chart={filtered} range={range} />
      </div>
      {missing !== undefined && <p className={css.quiet}>{missing}</p>}
      {isAsleep && shown === undefined && (
        <div className={css.asleep}>
          <p>The service sleeps, and this range was not asked for before.</p>
          <Button small onClick={() => setWake("auto")}>
            Wake and ask
          </Button>
        </div>
      )}
      {error !== null && !isAsleep && <ErrorState error={error} onRetry={() => void query.refetch()} />}
      {shown === undefined && error === null && missing === undefined && <Skeleton lines={6} />}
      {shown !== undefined && <Shown panel={panel} {...shown} onRange={onRange} />}
    </>
  );
}

/** Such a chart has a button of its own beside the title. */
function isOverTime({ display }: ChartDefinition): boolean {
  return display !== "table" && display !== "number";
}

type ShownProps = {
  readonly panel: ChartPanel;
  readonly answer: ChartAnswer;
  readonly bounds: Bounds;
  readonly isKept: boolean;
  readonly onRange: (fromMs: number, toMs: number) => void;
};

function Shown({ panel: { title, chart }, answer, bounds, isKept, onRange }: ShownProps) {
  return (
    <>
      <ChartView
        name={title}
        definition={chart}
        answer={answer}
        bounds={bounds}
        height={180}
        hideHeader
        onRange={onRange}
        {...(isOverTime(chart) ? { syncKey: cursorKey } : {})}
      />
      {(isKept || answer.meta.cache === "stale") && (
        <p className={css.quiet}>
          The service sleeps; this is from <RelativeTime at={answer.meta.asOf} />.
        </p>
      )}
    </>
  );
}
