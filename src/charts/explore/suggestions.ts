/** Sources that a service could have: tables of the OpenTelemetry layout, and tables with a time. */

import type { metricTableNames } from "../../api/chart-source-members.ts";
import { type SourceBody, type SourceRecord, sourceBody } from "../../api/chart-sources.ts";
import type { WakeMode } from "../../api/charts.ts";
import type { ReadMeta } from "../../api/explore.ts";
import { tokenize } from "../../clickhouse/lexer.ts";
import { literal, ownDatabaseList } from "../../clickhouse/sql.ts";
import { parseType } from "../../clickhouse/types.ts";
import { errorTableNameOf } from "../../sources/contract/destination.ts";
import { chartSourceRecordOf } from "../sources.ts";
import type { Reader } from "../turns.ts";
import type { EngineRead, ReadableSources, SourceReads } from "./reads.ts";

/** A table as the engine describes it. */
export type KnownTable = {
  readonly database: string;
  readonly table: string;
  readonly sortingKey: string;
  /** Types by name, in the order of the columns. */
  readonly columns: ReadonlyMap<string, string>;
};

const maxTables = 500;

const tablesQuery = `
SELECT t.database, t.name, t.sorting_key, groupArray(c.name), groupArray(c.type)
FROM (SELECT database, name, sorting_key FROM system.tables
  WHERE database NOT IN ${ownDatabaseList} AND NOT is_temporary
    AND name NOT LIKE '.%' AND NOT endsWith(name, ${literal(errorTableNameOf(""))}) AND (engine LIKE '%MergeTree' OR engine IN ('View', 'Merge', 'Distributed'))
  ORDER BY database, name LIMIT ${maxTables}) AS t
INNER JOIN (SELECT database, table, name, type FROM system.columns ORDER BY database, table, position) AS c
  ON c.database = t.database AND c.table = t.name
GROUP BY t.database, t.name, t.sorting_key ORDER BY t.database, t.name FORMAT JSONCompactEachRow`;

export class Suggestions {
  readonly #reads: SourceReads;
  readonly #sources: ReadableSources;

  constructor(reads: SourceReads, sources: ReadableSources) {
    this.#reads = reads;
    this.#sources = sources;
  }

  /** Bodies for createSource, of tables that no source of the organization reads. Throws AppError. */
  async of(
    { serviceId, wake }: { readonly serviceId: string; readonly wake: WakeMode },
    reader: Reader,
  ): Promise<{ readonly data: SourceBody[]; readonly meta: ReadMeta }> {
    const key = { wake, key: [reader.organizationId, "suggestions"] };
    const { result: tables, meta } = await this.#reads.ofService(serviceId, key, reader, tablesOf);
    const records = (await this.#sources.list(reader.organizationId)).map(chartSourceRecordOf);
    const used = new Set(records.filter((record) => record.serviceId === serviceId).flatMap(tablesOfSource));
    const free = tables
      .map((one) => ({ ...one, columns: new Map(one.columns) }))
      .filter(({ database, table }) => !used.has(placeOf(database, table)));
    return { data: suggestionsFor(free, serviceId), meta };
  }
}

async function tablesOf(read: EngineRead) {
  const text = await read.query(tablesQuery);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [database, table, sortingKey, names, types] = JSON.parse(line) as [
      string,
      string,
      string,
      string[],
      string[],
    ];
    return { database, table, sortingKey, columns: names.map((name, i) => [name, types[i] ?? ""] as const) };
  });
}

/** Places of the tables that a source reads. */
export function tablesOfSource({ from, metricTables, materializedViews }: SourceRecord): string[] {
  const names = [from.tableName, ...Object.values(metricTables ?? {})];
  return [
    ...names.map((name) => placeOf(from.databaseName, name)),
    ...(materializedViews ?? []).map((rollup) => placeOf(rollup.databaseName, rollup.tableName)),
  ];
}

export function placeOf(database: string, table: unknown): string {
  return JSON.stringify([database, table]);
}

/** The sources that can be made of tables, those of the OpenTelemetry layout first. */
export function suggestionsFor(tables: readonly KnownTable[], serviceId: string): SourceBody[] {
  const metrics = new Map<string, { database: string; name: string; tables: Partial<Record<Metric, string>> }>();
  const telemetry: SourceBody[] = [];
  const others: SourceBody[] = [];
  const bodyOf = (body: object) => sourceBody.parse({ ...body, serviceId });
  for (const known of tables) {
    const { database, table } = known;
    const from = { databaseName: database, tableName: table };
    const metric = metricOf(known);
    const time = timeOf(known);
    if (metric !== undefined) {
      // The tables of one collector differ in the kind of metric alone.
      const name = table.replace(new RegExp(`_?(${metric.replace(" ", "_")}|exp_histogram)`), "");
      const key = placeOf(database, name);
      const group = metrics.get(key) ?? { database, name: name || table, tables: {} };
      group.tables[metric] = table;
      metrics.set(key, group);
    } else if (has(known, "Body", "SeverityText", "Timestamp")) telemetry.push(bodyOf({ ...logOf(known), from }));
    else if (has(known, "TraceId", "SpanId", "SpanName", "Duration", "Timestamp")) {
      telemetry.push(bodyOf({ ...traceOf(known), from }));
    } else if (time !== undefined) {
      others.push(bodyOf({ name: table, kind: "table", from, timestampValueExpression: time }));
    }
  }
  const ofMetrics = [...metrics.values()].map(({ database, name, tables: metricTables }) =>
    bodyOf({
      ...{ name, kind: "metric", from: { databaseName: database, tableName: "" }, metricTables },
      ...{ timestampValueExpression: "TimeUnix", resourceAttributesExpression: "ResourceAttributes" },
    }),
  );
  return [...telemetry, ...ofMetrics, ...others];
}

type Metric = (typeof metricTableNames)[number];

function metricOf(known: KnownTable): Metric | undefined {
  if (!has(known, "MetricName", "TimeUnix", "Attributes", "ResourceAttributes")) return undefined;
  if (has(known, "BucketCounts", "ExplicitBounds")) return "histogram";
  if (has(known, "Scale", "PositiveBucketCounts")) return "exponential histogram";
  if (has(known, "ValueAtQuantiles.Quantile", "ValueAtQuantiles.Value")) return "summary";
  if (!has(known, "Value")) return undefined;
  return has(known, "AggregationTemporality") ? "sum" : "gauge";
}

function logOf(known: KnownTable) {
  return {
    ...{ name: known.table, kind: "log", ...commonOf(known) },
    ...{ bodyExpression: "Body", implicitColumnExpression: "Body", severityTextExpression: "SeverityText" },
    ...(has(known, "LogAttributes") && { eventAttributesExpression: "LogAttributes" }),
  };
}

function traceOf(known: KnownTable) {
  return {
    ...{ name: known.table, kind: "trace", ...commonOf(known) },
    ...{ durationExpression: "Duration", durationPrecision: 9, implicitColumnExpression: "SpanName" },
    ...(has(known, "SpanAttributes") && { eventAttributesExpression: "SpanAttributes" }),
  };
}

function commonOf(known: KnownTable) {
  // The coarser column prunes where the table is sorted by it.
  const coarse = has(known, "TimestampTime") && wordsOf(known.sortingKey).has("TimestampTime");
  return {
    timestampValueExpression: coarse ? "TimestampTime, Timestamp" : "Timestamp",
    ...(has(known, "ServiceName") && { serviceNameExpression: "ServiceName" }),
    ...(has(known, "ResourceAttributes") && { resourceAttributesExpression: "ResourceAttributes" }),
  };
}

function has({ columns }: KnownTable, ...names: string[]): boolean {
  return names.every((name) => columns.has(name));
}

/** The column with the time of a row: one that the table is sorted by before others, a time before a date. */
function timeOf({ columns, sortingKey }: KnownTable): string | undefined {
  const sorted = wordsOf(sortingKey);
  const candidates = [...columns].flatMap(([name, type]) => {
    const { family } = parseType(type);
    if (family !== "dateTime" && family !== "date") return [];
    return [{ name, rank: (family === "dateTime" ? 0 : 2) + (sorted.has(name) ? 0 : 1) }];
  });
  const [best] = candidates.sort((a, b) => a.rank - b.rank);
  if (best === undefined) return undefined;
  return /^[A-Za-z_]\w*$/.test(best.name) ? best.name : `\`${best.name.replaceAll("`", "\\`")}\``;
}

function wordsOf(text: string): Set<string> {
  return new Set(tokenize(text).map(({ value }) => value));
}
