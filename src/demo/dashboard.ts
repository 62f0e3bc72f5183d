/** The dashboard of the demo: arriving flights, as the web console keeps and draws them. */
import type { ApiClient } from "../api/client.ts";

type Panels = {
  readonly serviceId: string;
  /** The continuous pipe, and the chart source over its table. */
  readonly pipeId: string;
  readonly sourceId: string;
};

/** Saves the dashboard and returns its id. The members are those of `console/src/charts/dashboard.ts`. */
export async function createDashboard(api: ApiClient, organizationId: string, of: Panels): Promise<string> {
  const content = { from: "now-15m", to: "now", panels: panelsOf(of) };
  const body = { kind: "dashboard" as const, name: "Arriving flights", content };
  return (await api.createSavedObject({ params: { organizationId }, body })).id;
}

function panelsOf({ serviceId, pipeId, sourceId }: Panels): readonly object[] {
  const chart = (id: string, title: string, width: number, more: object) => {
    const series = [{ aggFn: "count" }];
    return { id, kind: "chart", title, width, chart: { sourceId, series, granularity: "auto", limit: 6, ...more } };
  };
  const late = [{ aggFn: "count", where: "delay:>60" }];
  return [
    chart("flights", "Flights", 3, { display: "number" }),
    chart("arrivals", "Arrivals by airport of origin", 9, { display: "stacked", groupBy: "origin" }),
    chart("delay", "Delay in minutes, p50 and p95", 6, { display: "line", series: [quantile(0.5), quantile(0.95)] }),
    chart("late", "More than an hour late", 6, { display: "bar", series: late }),
    chart("origins", "Airports", 6, { display: "table", groupBy: "origin", series: [{ aggFn: "count" }, average] }),
    {
      id: "pipe",
      kind: "pipe",
      title: "Rows per second of the pipe",
      width: 6,
      serviceId,
      pipeId,
      metric: "rowsPerSecond",
    },
  ];
}

const average = { aggFn: "avg", field: "delay" };

function quantile(level: number) {
  return { aggFn: "quantile", field: "delay", level };
}
