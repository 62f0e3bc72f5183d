/** Sources between the store and the interface. */

import { type SourceBody, type SourceRecord, storedSource } from "../api/chart-sources.ts";
import { metricTypes, type SeriesItem } from "../api/charts.ts";
import { setByServer, withoutNulls } from "../api/operation.ts";
import { AppError, badRequest } from "../lib/errors.ts";
import type { ChartSource, ChartSourceContent } from "../store/saved/chart-sources.ts";

/** Members of a body that are not part of its definition. */
const apart = ["serviceId", "connection", ...Object.keys(setByServer)];

/** What the store keeps of a validated body. */
export function sourceContent(body: SourceBody): ChartSourceContent {
  const serviceId = (body.serviceId ?? body.connection) as string;
  const kept = Object.entries(withoutNulls(body)).filter(([name]) => !apart.includes(name));
  const definition = Object.fromEntries(kept);
  return { serviceId, name: body.name, kind: body.kind, definition };
}

export function chartSourceRecordOf(row: ChartSource): SourceRecord {
  const definition = storedSource.parse({ ...row.definition, serviceId: row.serviceId });
  return {
    ...definition,
    id: row.id,
    serviceId: row.serviceId,
    connection: row.serviceId,
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** NOT_FOUND of a source that the member at `path` names. */
export function sourceNotFound(message: string, path: string): AppError {
  const issue = { path, message: "is not the id of a source; GET /api/v2/sources lists them" };
  return new AppError("NOT_FOUND", message, { issues: [issue] });
}

/** The table a series reads, and as what kind of metric; undefined for rows that are not metrics. */
export type SeriesTarget = { readonly table: string; readonly metric: (typeof metricTypes)[number] | undefined };

/** Throws AppError when the source has no table for the series. */
export function seriesTargetOf(source: SourceRecord, item: SeriesItem, index: number): SeriesTarget {
  return targetOf(source, item.metricDataType, `series.${index}.metricDataType`);
}

/** Why metrics of a type have no series. */
const uncharted = {
  "exponential histogram":
    "series of exponential histograms are not computed: their buckets change with the scale of each point. Query the table with SQL, or have the SDK send explicit buckets",
  summary:
    "series of summaries are not computed: quantiles of several points cannot be merged into one. Query the table with SQL, or send histograms",
};

/** The same for a metric type that stands at `path` in the request. */
export function targetOf(source: SourceRecord, asked: string | undefined, path: string): SeriesTarget {
  if (source.kind !== "metric") return { table: source.from.tableName, metric: undefined };
  const tables = source.metricTables ?? {};
  const known = metricTypes.filter((type) => tables[type] !== undefined);
  if (known.length === 0) throw badRequest(path, `the source has no table for ${metricTypes.join(", ")}`);
  // A source with one kind of metric leaves nothing to choose.
  const wanted = asked ?? (known.length === 1 ? known[0] : undefined);
  if (wanted === undefined) throw badRequest(path, `name one of ${known.join(", ")}`);
  const metric = metricTypes.find((type) => type === wanted);
  if (metric === undefined) throw badRequest(path, uncharted[wanted as keyof typeof uncharted]);
  const table = tables[metric];
  if (table === undefined) throw badRequest(path, `the source has no table for metrics of type ${metric}`);
  return { table, metric };
}
