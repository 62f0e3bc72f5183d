/** A dashboard as it is kept and exported: panels in reading order on a grid of twelve columns. */
import { type ChartDefinition, chartDefinition } from "./definition.ts";
import { defaultRange, type TimeRange } from "./time-range.ts";
import type { Unit } from "./types.ts";
import { type DashboardVariable, variablesOf } from "./variables.ts";

export const panelWidths = [3, 4, 6, 8, 9, 12] as const;
export type PanelWidth = (typeof panelWidths)[number];

type Shared = { readonly id: string; readonly title: string; readonly width: PanelWidth };

/** A chart over a source. */
export type ChartPanel = Shared & { readonly kind: "chart"; readonly chart: ChartDefinition };

/** A number of a pipe over time, from the history that the server keeps. */
export type PipePanel = Shared & {
  readonly kind: "pipe";
  readonly serviceId: string;
  readonly pipeId: string;
  readonly metric: PipeMetric;
};

export type DashboardPanel = ChartPanel | PipePanel;

export type Dashboard = TimeRange & {
  readonly panels: readonly DashboardPanel[];
  readonly variables: readonly DashboardVariable[];
};

export const pipeMetrics = {
  rowsPerSecond: { title: "Rows per second", unit: "perSecond" },
  bytesPerSecond: { title: "Bytes per second", unit: "bytesPerSecond" },
  lagSeconds: { title: "Lag", unit: "seconds" },
  latencySeconds: { title: "Latency", unit: "seconds" },
  errorsPerSecond: { title: "Errors per second", unit: "perSecond" },
  workers: { title: "Workers", unit: "number" },
} as const satisfies Record<string, { title: string; unit: Unit }>;

export type PipeMetric = keyof typeof pipeMetrics;

export const emptyDashboard: Dashboard = { ...defaultRange, panels: [], variables: [] };

const maxPanels = 60;

/** A dashboard of anything that was kept or imported; panels that cannot be read are left out. */
export function dashboardOf(kept: unknown): Dashboard {
  const raw = (typeof kept === "object" && kept !== null ? kept : {}) as Record<string, unknown>;
  const panels = Array.isArray(raw.panels) ? raw.panels.slice(0, maxPanels).map(panelOf) : [];
  return {
    from: typeof raw.from === "string" ? raw.from : defaultRange.from,
    to: typeof raw.to === "string" ? raw.to : defaultRange.to,
    panels: withDifferentIds(panels.filter((panel) => panel !== undefined)),
    variables: variablesOf(raw.variables),
  };
}

function panelOf(kept: unknown): DashboardPanel | undefined {
  if (typeof kept !== "object" || kept === null) return undefined;
  const raw = kept as Record<string, unknown>;
  const width = panelWidths.find((one) => one === raw.width) ?? 6;
  const shared = { id: String(raw.id ?? ""), title: typeof raw.title === "string" ? raw.title : "Panel", width };
  if (raw.kind === "pipe") {
    if (typeof raw.serviceId !== "string" || typeof raw.pipeId !== "string" || !isPipeMetric(raw.metric))
      return undefined;
    return { ...shared, kind: "pipe", serviceId: raw.serviceId, pipeId: raw.pipeId, metric: raw.metric };
  }
  return raw.kind === "chart" ? { ...shared, kind: "chart", chart: chartDefinition(raw.chart) } : undefined;
}

function isPipeMetric(value: unknown): value is PipeMetric {
  return typeof value === "string" && Object.hasOwn(pipeMetrics, value);
}

function withDifferentIds(panels: readonly DashboardPanel[]): DashboardPanel[] {
  const seen = new Set<string>();
  return panels.map((panel) => {
    const id = panel.id === "" || seen.has(panel.id) ? crypto.randomUUID() : panel.id;
    seen.add(id);
    return { ...panel, id };
  });
}

/** The panels with one moved by `steps` places; at the ends it stays. */
export function moved(panels: readonly DashboardPanel[], id: string, steps: number): readonly DashboardPanel[] {
  const at = panels.findIndex((panel) => panel.id === id);
  const to = Math.max(0, Math.min(panels.length - 1, at + steps));
  if (at === -1 || to === at) return panels;
  const rest = panels.filter((panel) => panel.id !== id);
  return rest.toSpliced(to, 0, panels[at] as DashboardPanel);
}

/** The next width in this direction. */
export function resized(width: PanelWidth, steps: number): PanelWidth {
  const at = panelWidths.indexOf(width) + steps;
  return panelWidths[Math.max(0, Math.min(panelWidths.length - 1, at))] as PanelWidth;
}

export function newChartPanel(title: string, chart: ChartDefinition): ChartPanel {
  return { id: crypto.randomUUID(), kind: "chart", title, width: 6, chart };
}

/** Health of a pipe: what it loads, how far it is behind, what it refuses. */
export function pipeTemplate(serviceId: string, pipeId: string): Dashboard {
  const metrics: readonly PipeMetric[] = ["rowsPerSecond", "lagSeconds", "bytesPerSecond", "errorsPerSecond"];
  const panels = metrics.map(
    (metric): PipePanel => ({
      id: crypto.randomUUID(),
      kind: "pipe",
      title: pipeMetrics[metric].title,
      width: 6,
      serviceId,
      pipeId,
      metric,
    }),
  );
  return { ...emptyDashboard, panels };
}

export type TemplateSource = {
  readonly id: string;
  readonly serviceNameExpression?: string | undefined;
  readonly severityTextExpression?: string | undefined;
  readonly durationExpression?: string | undefined;
};

/** Rows of a source over time, and what its columns allow: by severity, by service, durations, variables. */
export function sourceTemplate(source: TemplateSource): Dashboard {
  const chart = (more: Record<string, unknown>) => chartDefinition({ sourceId: source.id, ...more });
  const panels: DashboardPanel[] = [{ ...newChartPanel("Rows", chart({ display: "number" })), width: 3 }];
  const add = (title: string, more: Record<string, unknown>) => panels.push(newChartPanel(title, chart(more)));
  panels.push({ ...newChartPanel("Rows over time", chart({ display: "bar" })), width: 9 });
  if (source.severityTextExpression)
    add("Rows by severity", { groupBy: source.severityTextExpression, display: "bar" });
  if (source.serviceNameExpression) {
    add("Rows by service", { groupBy: source.serviceNameExpression, display: "stacked" });
    add("Services", { groupBy: source.serviceNameExpression, display: "table" });
  }
  if (source.durationExpression) {
    const series = [0.5, 0.95, 0.99].map((level) => ({ aggFn: "quantile", level, field: source.durationExpression }));
    add("Duration", { series, display: "line" });
  }
  const variable = (name: string, field: string | undefined) => (field ? [{ name, sourceId: source.id, field }] : []);
  const variables = [
    ...variable("Service", source.serviceNameExpression),
    ...variable("Severity", source.severityTextExpression),
  ];
  return { ...emptyDashboard, panels, variables };
}
