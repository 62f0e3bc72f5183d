/** Charts as what an alert watches, and the other way round: rows of a saved search, or values of a tile. */
import type { ClientInput } from "../../../src/api/operation.ts";
import type { ObservabilityOperations } from "../../../src/api/operations.ts";
import type { OperationResult } from "../api/client.ts";
import { type ChartDefinition, chartDefinition, maxSeries, missingIn, newChart, newSeries } from "./definition.ts";

type SavedSearch = OperationResult<"listSavedSearches">["data"][number];
type Tile = OperationResult<"listDashboards">["data"][number]["tiles"][number];
type NewSearch = ClientInput<ObservabilityOperations["createSavedSearch"]>["body"];
type NewTile = ClientInput<ObservabilityOperations["createDashboard"]>["body"]["tiles"][number];
type Item = Readonly<Record<string, unknown>>;

/** Why no alert can watch the chart; undefined where one can. */
export function chartRefusal(chart: ChartDefinition): string | undefined {
  if (chart.formula.trim() !== "") return "An alert watches series, not a formula.";
  const at = chart.series.findIndex(({ aggFn, field }) => aggFn === "count" && field.trim() !== "");
  if (at !== -1) return `An alert counts rows: series ${at + 1} must have no field.`;
  return missingIn(chart);
}

/** True for a chart of counted rows: an alert watches a saved search then. */
export function countsRows({ series }: ChartDefinition): boolean {
  return series.length === 1 && series[0]?.aggFn === "count";
}

/** The rows that the chart counts, as a saved search. */
export function searchOf(name: string, { sourceId, series: [series = newSeries] }: ChartDefinition): NewSearch {
  return { name, sourceId, where: series.where, whereLanguage: series.whereLanguage };
}

/** The values of the chart, as a tile. */
export function tileOf(name: string, { sourceId, series, groupBy }: ChartDefinition): NewTile {
  const select = series.map(({ aggFn, field, level, where, whereLanguage }) => ({
    ...{ aggFn, where, whereLanguage },
    ...(aggFn === "count" ? {} : { valueExpression: field.trim() }),
    ...(aggFn === "quantile" ? { level } : {}),
  }));
  const config = { displayType: "line", sourceId, select, ...(groupBy.trim() === "" ? {} : { groupBy }) };
  return { name, x: 0, y: 0, w: 12, h: 4, config };
}

/** The number of rows of a saved search over time; undefined for filters in several languages. */
export function chartOfSearch(search: SavedSearch, groupBy = ""): ChartDefinition | undefined {
  const { sourceId, where = "", whereLanguage = "lucene", filters = [] } = search;
  const conditions = filters.map((filter) =>
    filter.type === "sql_ast"
      ? { language: "sql" as const, text: `${filter.left} ${filter.operator} ${filter.right}` }
      : { language: filter.type, text: filter.condition },
  );
  const all = where.trim() === "" ? conditions : [{ language: whereLanguage, text: where }, ...conditions];
  const language = all[0]?.language ?? whereLanguage;
  if (all.some((one) => one.language !== language)) return undefined;
  const text = all.length === 1 ? (all[0]?.text ?? "") : all.map((one) => `(${one.text})`).join(" AND ");
  return { ...newChart(sourceId), series: [{ ...newSeries, where: text, whereLanguage: language }], groupBy };
}

/** Why no alert can watch the tile; undefined where one can. The server refuses the same. */
export function tileRefusal({ config, series = [] }: Tile): string | undefined {
  if (config === undefined) {
    const other = series.find(({ type }) => type !== "time" && type !== "number");
    return other === undefined ? tooMany(series.length) : `a tile of type ${other.type}`;
  }
  if (config.configType === "sql") return "a tile of a statement";
  if (!["line", "stacked_bar", "number"].includes(config.displayType)) return `a tile of type ${config.displayType}`;
  if (Array.isArray(config.formulas) && config.formulas.length > 0) return "a tile with formulas";
  return tooMany((config.select as readonly unknown[]).length);
}

function tooMany(series: number): string | undefined {
  return series > maxSeries ? `a tile with more than ${maxSeries} series` : undefined;
}

/** The chart of a tile; undefined for one that the console cannot draw: of metrics, of a ratio, or not watchable. */
export function chartOfTile(tile: Tile): ChartDefinition | undefined {
  if (tileRefusal(tile) !== undefined) return undefined;
  const { config, series = [], asRatio } = tile;
  const items = (config === undefined ? series : config.select) as readonly Item[];
  if (asRatio === true || config?.asRatio === true || items.some(({ metricName }) => metricName !== undefined)) {
    return undefined;
  }
  const sourceId = config === undefined ? items[0]?.sourceId : config.sourceId;
  if (items.some((item) => config === undefined && item.sourceId !== sourceId)) return undefined;
  const groups =
    config === undefined ? (items[0]?.groupBy as readonly string[] | undefined)?.join(", ") : config.groupBy;
  return chartDefinition({
    sourceId,
    series: items.map((item) => ({ ...item, field: item.valueExpression ?? item.field ?? "" })),
    groupBy: groups ?? "",
    display: "line",
  });
}
