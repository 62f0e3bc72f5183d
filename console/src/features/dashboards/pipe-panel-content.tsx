import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../api/client.ts";
import { type PipePanel, pipeMetrics } from "../../charts/dashboard.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Bounds } from "../../charts/time-range.ts";
import { ErrorState, Skeleton } from "../../parts/states.tsx";
import { cursorKey } from "./cursor-key.ts";
import css from "./dashboards.module.css";

type PipePanelContentProps = {
  readonly panel: PipePanel;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
};

/** A number of a pipe over time, from the history that the server keeps: no service is asked. */
export function PipePanelContent({ panel, bounds, onRange }: PipePanelContentProps) {
  const { title, serviceId, pipeId, metric } = panel;
  const query = { from: new Date(bounds.from).toISOString(), to: new Date(bounds.to).toISOString() };
  const { data, error, refetch } = useQuery({
    queryKey: ["getPipeMetrics", serviceId, pipeId, query],
    queryFn: ({ signal }) => call("getPipeMetrics", { params: { serviceId, pipeId }, query }, signal),
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const chart = useMemo(() => {
    if (data === undefined) return undefined;
    const values = data.series[metric] ?? [];
    const first = Date.parse(data.from);
    return {
      times: values.map((_, at) => first + at * data.stepSeconds * 1000),
      series: [{ name: pipeMetrics[metric].title, values }],
    };
  }, [data, metric]);
  return (
    <>
      <h2 className={`cut ${css.title}`}>{title}</h2>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {chart === undefined && error === null && <Skeleton lines={6} />}
      {chart !== undefined && (
        <TimeChart
          name={title}
          {...chart}
          {...bounds}
          unit={pipeMetrics[metric].unit}
          height={180}
          hideHeader
          hideLegend
          syncKey={cursorKey}
          onRange={onRange}
        />
      )}
    </>
  );
}
