/** A dashboard as it is kept and exported: panels in reading order on a grid of twelve columns. */
import { type ChartDefinition, chartDefinition } from "./definition.ts";
import { type ResultLook, resultLook } from "./result-series.ts";
import { defaultRange, type TimeRange } from "./time-range.ts";
import type { Unit } from "./types.ts";
import { type DashboardVariable, variablesOf } from "./variables.ts";

export const panelWidths = [3, 4, 6, 8, 9, 12] as const;
export type PanelWidth = (typeof panelWidths)[number];

/** Heights of the plot in pixels. */
export const panelHeights = [180, 280, 420] as const;
export type PanelHeight = (typeof panelHeights)[number];

type Place = {
  readonly id: string;
  readonly title: string;
  readonly width: PanelWidth;
  readonly height: PanelHeight;
};

/** A chart over a source. */
type Chart = { readonly kind: "chart"; readonly chart: ChartDefinition };

/** A number of a pipe over time, from the history that the server keeps. */
type Pipe = { readonly kind: "pipe"; readonly serviceId: string; readonly pipeId: string; readonly metric: PipeMetric };

/** A chart of the rows of a statement. The parameters `from` and `to` are the ends of the range. */
type Statement = {
  readonly kind: "statement";
  readonly serviceId: string;
  readonly query: string;
  readonly params: Readonly<Record<string, string>>;
  readonly look: ResultLook;
};

export type PanelContent = Chart | Pipe | Statement;
export type ChartPanel = Place & Chart;
export type PipePanel = Place & Pipe;
export type StatementPanel = Place & Statement;
export type DashboardPanel = ChartPanel | PipePanel | StatementPanel;

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
  const height = panelHeights.find((one) => one === raw.height) ?? 180;
  const content = contentOf(raw);
  const title = typeof raw.title === "string" ? raw.title : "Panel";
  return content && { id: String(raw.id ?? ""), title, width, height, ...content };
}

function contentOf(raw: Readonly<Record<string, unknown>>): PanelContent | undefined {
  const { kind, serviceId, pipeId, metric, query } = raw;
  if (kind === "chart") return { kind, chart: chartDefinition(raw.chart) };
  if (typeof serviceId !== "string") return undefined;
  if (kind === "pipe" && typeof pipeId === "string" && isPipeMetric(metric)) return { kind, serviceId, pipeId, metric };
  if (kind !== "statement" || typeof query !== "string") return undefined;
  const params = Object.entries(raw.params ?? {}).map(([name, value]) => [name, String(value)]);
  return { kind, serviceId, query, params: Object.fromEntries(params), look: resultLook(raw.look) };
}

function isPipeMetric(value: unknown): value is PipeMetric {
  return typeof value === "string" && Object.hasOwn(pipeMetrics, value);
}

/** The same panels get the same ids at every reading: what is open in a panel would be closed by another one. */
function withDifferentIds(panels: readonly DashboardPanel[]): DashboardPanel[] {
  const seen = new Set<string>();
  return panels.map((panel, at) => {
    let id = panel.id;
    for (let number = at + 1; id === "" || seen.has(id); number += 1) id = `panel ${number}`;
    seen.add(id);
    return { ...panel, id };
  });
}

/** The panels with one moved to a place, the last one at most. */
export function placed(panels: readonly DashboardPanel[], id: string, to: number): readonly DashboardPanel[] {
  const panel = panels.find((one) => one.id === id);
  if (panel === undefined) return panels;
  const rest = panels.filter((one) => one !== panel);
  return rest.toSpliced(Math.max(0, Math.min(rest.length, to)), 0, panel);
}

/** The next of these sizes in this direction. */
export function nextSize<T extends number>(sizes: readonly T[], size: T, steps: number): T {
  const at = sizes.indexOf(size) + steps;
  return sizes[Math.max(0, Math.min(sizes.length - 1, at))] as T;
}

/** The size that is nearest to what was dragged. */
export function nearestSize<T extends number>(sizes: readonly T[], dragged: number): T {
  return sizes.toSorted((a, b) => Math.abs(a - dragged) - Math.abs(b - dragged))[0] as T;
}

export function newPanel(title: string, content: PanelContent, width: PanelWidth = 6): DashboardPanel {
  return { id: crypto.randomUUID(), title, width, height: 180, ...content };
}

/** Health of a pipe: what it loads, how far it is behind, what it refuses. */
export function pipeTemplate(serviceId: string, pipeId: string): Dashboard {
  const metrics: readonly PipeMetric[] = ["rowsPerSecond", "lagSeconds", "bytesPerSecond", "errorsPerSecond"];
  const panels = metrics.map((metric) =>
    newPanel(pipeMetrics[metric].title, { kind: "pipe", serviceId, pipeId, metric }),
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
  const panels: DashboardPanel[] = [];
  const add = (title: string, more: Record<string, unknown>, width?: PanelWidth) =>
    panels.push(newPanel(title, { kind: "chart", chart: chartDefinition({ sourceId: source.id, ...more }) }, width));
  add("Rows", { display: "number" }, 3);
  add("Rows over time", { display: "bar" }, 9);
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
