/** A chart over a source as it is kept: in the address, as a saved chart, and in dashboards. */
import type { ClientInput } from "../../../src/api/operation.ts";
import type { ObservabilityOperations } from "../../../src/api/operations.ts";
import type { Bounds } from "./time-range.ts";

type ChartRequest = ClientInput<ObservabilityOperations["queryChart"]>["body"];

export const aggregates = [
  "count",
  "count_distinct",
  "sum",
  "avg",
  "min",
  "max",
  "quantile",
  "last_value",
  "any",
] as const;
export const chartDisplays = ["line", "bar", "stacked", "table", "number"] as const;
export const granularities = ["auto", "30s", "1m", "5m", "15m", "30m", "1h", "6h", "12h", "1d"] as const;
export const maxSeries = 5;

export type SeriesDefinition = {
  readonly aggFn: (typeof aggregates)[number];
  readonly field: string;
  /** Belongs to `quantile`. */
  readonly level: number;
  readonly where: string;
  readonly whereLanguage: "lucene" | "sql";
};

export type ChartDefinition = {
  readonly sourceId: string;
  readonly series: readonly SeriesDefinition[];
  /** Comma list; the same in all series. */
  readonly groupBy: string;
  readonly display: (typeof chartDisplays)[number];
  readonly granularity: (typeof granularities)[number];
  /** Most groups. */
  readonly limit: number;
  /** Arithmetic over `series_0` ...; empty without one. */
  readonly formula: string;
};

export const newSeries: SeriesDefinition = {
  aggFn: "count",
  field: "",
  level: 0.95,
  where: "",
  whereLanguage: "lucene",
};

export function newChart(sourceId: string): ChartDefinition {
  return { sourceId, series: [newSeries], groupBy: "", display: "bar", granularity: "auto", limit: 8, formula: "" };
}

/** A definition of anything that was kept, member by member: what does not fit gets its default. */
export function chartDefinition(kept: unknown, sourceId = ""): ChartDefinition {
  const raw = (typeof kept === "object" && kept !== null ? kept : {}) as Record<string, unknown>;
  const base = newChart(sourceId);
  const series = Array.isArray(raw.series) ? raw.series.slice(0, maxSeries).map(seriesDefinition) : [];
  return {
    sourceId: textOf(raw.sourceId, base.sourceId),
    series: series.length === 0 ? base.series : series,
    groupBy: textOf(raw.groupBy, ""),
    display: oneOf(chartDisplays, raw.display, base.display),
    granularity: oneOf(granularities, raw.granularity, base.granularity),
    limit: typeof raw.limit === "number" && raw.limit >= 1 && raw.limit <= 50 ? Math.floor(raw.limit) : base.limit,
    formula: textOf(raw.formula, ""),
  };
}

function seriesDefinition(kept: unknown): SeriesDefinition {
  const raw = (typeof kept === "object" && kept !== null ? kept : {}) as Record<string, unknown>;
  return {
    aggFn: oneOf(aggregates, raw.aggFn, newSeries.aggFn),
    field: textOf(raw.field, ""),
    level: typeof raw.level === "number" && raw.level >= 0 && raw.level <= 1 ? raw.level : newSeries.level,
    where: textOf(raw.where, ""),
    whereLanguage: oneOf(["lucene", "sql"] as const, raw.whereLanguage, "lucene"),
  };
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function oneOf<const T extends readonly string[]>(values: T, value: unknown, otherwise: T[number]): T[number] {
  return values.includes(value as T[number]) ? (value as T[number]) : otherwise;
}

/** Why there is nothing to ask for yet; undefined for a complete definition. */
export function missingIn({ series }: ChartDefinition): string | undefined {
  const at = series.findIndex(({ aggFn, field }) => aggFn !== "count" && field.trim() === "");
  return at === -1 ? undefined : `Series ${at + 1} needs a field for ${series[at]?.aggFn}.`;
}

/** The request of a definition; both ends of the range are part of it. */
export function requestOf(
  definition: ChartDefinition,
  { from, to }: Bounds,
  timezone: string,
  wake: "auto" | "never",
): ChartRequest {
  const { sourceId, display, limit, formula } = definition;
  // A number is that of all groups together.
  const groupBy = display === "number" ? [] : splitList(definition.groupBy);
  const isPlain = display === "table" || display === "number";
  return {
    series: definition.series.map(({ aggFn, field, level, where, whereLanguage }) => ({
      sourceId,
      aggFn,
      where,
      whereLanguage,
      groupBy,
      ...(aggFn === "count" && field.trim() === "" ? {} : { field: field.trim() }),
      ...(aggFn === "quantile" ? { level } : {}),
    })),
    startTime: from,
    endTime: to,
    timezone,
    granularity: isPlain ? "none" : definition.granularity === "auto" ? stepOf(to - from) : definition.granularity,
    fill: isPlain ? "none" : emptyValue(definition) === 0 ? "zero" : "null",
    ...(groupBy.length === 0 ? {} : { limit, ...(addsUp(definition) ? { others: true } : {}) }),
    ...(isPlain && groupBy.length > 0 ? { orderBy: "series_0" } : {}),
    ...(formula.trim() === "" ? {} : { formula: formula.trim() }),
    wake,
  };
}

/** Whether values of groups and of buckets add up to those of all. */
export function addsUp({ series, formula }: ChartDefinition): boolean {
  return formula.trim() === "" && series.every(({ aggFn }) => aggFn === "count" || aggFn === "sum");
}

/** What a chart shows where there are no rows. */
export function emptyValue({ series }: ChartDefinition): 0 | null {
  return series.every(({ aggFn }) => aggFn === "count") ? 0 : null;
}

const steps = {
  "30s": 0.5,
  "1m": 1,
  "5m": 5,
  "10m": 10,
  "15m": 15,
  "30m": 30,
  "1h": 60,
  "2h": 120,
  "6h": 360,
} as const;
const longSteps = { "12h": 720, "1d": 1440, "2d": 2880, "7d": 10_080, "30d": 43_200 } as const;
const mostBuckets = 120;

/** The finest step of which a chart can show all buckets; the server's own choice has half as many. */
export function stepOf(rangeMs: number): keyof typeof steps | keyof typeof longSteps | "auto" {
  if (rangeMs < 15 * 60_000) return "auto";
  const fits = Object.entries({ ...steps, ...longSteps }).find(
    ([, minutes]) => rangeMs <= minutes * 60_000 * mostBuckets,
  );
  return (fits?.[0] ?? "30d") as keyof typeof steps;
}

/** Expressions between commas that stand outside of parentheses and quotes. */
export function splitList(text: string): string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (const [token] of text.matchAll(/'(?:[^'\\]|\\.)*'|`[^`]*`|"[^"]*"|[\s\S]/g)) {
    if (token === "(" || token === "[") depth += 1;
    else if (token === ")" || token === "]") depth -= 1;
    if (token === "," && depth <= 0) parts.push("");
    else parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** A name for a series: `p95 of duration`. */
export function seriesName({ aggFn, field, level, where }: SeriesDefinition): string {
  const what =
    aggFn === "count"
      ? "count"
      : `${aggFn === "quantile" ? `p${Math.round(level * 1000) / 10}` : aggFn} of ${field.trim()}`;
  return where.trim() === "" ? what : `${what} where ${where.trim()}`;
}

/** Names of all series, each different. */
export function seriesNames(series: readonly SeriesDefinition[]): string[] {
  const names = series.map(seriesName);
  return names.map((name, at) => (names.indexOf(name) === at ? name : `${name} (${at + 1})`));
}
