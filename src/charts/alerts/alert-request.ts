/** The chart request that an alert evaluates: one row per group over one window. */

import type { AlertDefinition } from "../../api/alerts.ts";
import { type ChartRequest, chartQuery } from "../../api/charts.ts";
import type { DashboardTile } from "../../api/dashboard-tiles.ts";
import type { SavedSearchBody } from "../../api/saved-searches.ts";
import { badRequest } from "../../lib/errors.ts";
import { listItems } from "../explore/select-list.ts";

/** What an alert watches. */
export type AlertSubject =
  | { readonly kind: "savedSearch"; readonly search: SavedSearchBody }
  | { readonly kind: "tile"; readonly tile: DashboardTile };

export type AlertWindow = { readonly startMs: number; readonly endMs: number };

type Item = Readonly<Record<string, unknown>>;

/** Aggregates whose value without rows is zero. */
const additive = ["count", "count_distinct", "sum", "increase"];

/** The request for the window, whose end is exclusive. Throws AppError for what cannot be evaluated. */
export function alertRequestOf(definition: AlertDefinition, subject: AlertSubject, window: AlertWindow): ChartRequest {
  const { series, isRatio } =
    subject.kind === "tile" ? tileSeries(subject.tile) : searchSeries(subject.search, definition.groupBy);
  const parsed = chartQuery.safeParse({
    series,
    startTime: window.startMs,
    endTime: window.endMs - 1,
    granularity: "none",
    // An evaluation neither wakes a service nor keeps it awake.
    wake: "never",
    ...(isRatio ? { seriesReturnType: "ratio" } : {}),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(subject.kind === "tile" ? "tileId" : "savedSearchId", `${issue?.path.join(".")}: ${issue?.message}`);
}

/** The value of a window without rows: zero of what is counted, otherwise undefined. */
export function valueWithoutRows({ series, seriesReturnType }: ChartRequest): number | undefined {
  const isGrouped = series.some(({ groupBy }) => groupBy.length > 0);
  if (isGrouped || seriesReturnType === "ratio") return undefined;
  return series.every(({ aggFn }) => additive.includes(aggFn)) ? 0 : undefined;
}

function searchSeries(search: SavedSearchBody, groupBy: string | undefined) {
  const { sourceId } = search;
  const groups = groupBy === undefined ? [] : listItems(groupBy);
  return { series: [{ sourceId, aggFn: "count", ...conditionOf(search), groupBy: groups }], isRatio: false };
}

/** The search's own condition and its filters. */
function conditionOf({ where, whereLanguage, filters = [] }: SavedSearchBody) {
  const written = filters.map((filter) =>
    filter.type === "sql_ast"
      ? { type: "sql" as const, condition: `${filter.left} ${filter.operator} ${filter.right}` }
      : filter,
  );
  return { where, whereLanguage, ...(written.length === 0 ? {} : { filters: written }) };
}

const alertable = ["line", "stacked_bar", "number"];

function tileSeries({ config, series, asRatio }: DashboardTile): { series: Item[]; isRatio: boolean } {
  if (config === undefined) return { series: formerSeries(series ?? []), isRatio: asRatio === true };
  if (config.configType === "sql") throw badRequest("tileId", "a tile of a statement cannot be evaluated");
  if (!alertable.includes(config.displayType)) {
    throw badRequest(
      "tileId",
      `a tile of type ${config.displayType} cannot be evaluated, only ${alertable.join(", ")}`,
    );
  }
  if (Array.isArray(config.formulas) && config.formulas.length > 0) {
    throw badRequest("tileId", "a tile with formulas cannot be evaluated");
  }
  const groupBy = typeof config.groupBy === "string" && config.groupBy.trim() !== "" ? listItems(config.groupBy) : [];
  const items = (config.select as Item[]).map((item) => ({
    ...{ sourceId: config.sourceId, aggFn: item.aggFn, where: item.where ?? "", groupBy },
    ...given({ field: item.valueExpression, level: item.level, whereLanguage: item.whereLanguage }),
    ...given({ metricName: item.metricName, metricDataType: item.metricType }),
  }));
  return { series: items, isRatio: config.asRatio === true };
}

/** Series of the former form: their members are those of a chart. */
function formerSeries(series: readonly object[]): Item[] {
  return series.map((one) => {
    const { type, sourceId, aggFn, field, level, where, whereLanguage, groupBy, metricName, metricDataType } =
      one as Item;
    if (type !== "time" && type !== "number") {
      throw badRequest("tileId", `a tile with series of type ${type} cannot be evaluated, only time, number`);
    }
    return {
      ...{ sourceId, aggFn, where, groupBy: groupBy ?? [] },
      ...given({ field, level, whereLanguage, metricName, metricDataType }),
    };
  });
}

function given(members: Item): Item {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ""));
}
