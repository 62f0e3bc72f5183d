/**
 * The tables of a pipe of OpenTelemetry: names, columns, indexes and keys are those that the collector's ClickHouse
 * exporter creates (0.161), so that dashboards and clients made for them read ours.
 */
import { identifier, tableName } from "../../../clickhouse/sql.ts";
import { engineName, onCluster, type TableForm, windowSettings } from "../../../clickhouse/table-form.ts";
import { AppError } from "../../../lib/errors.ts";
import type { TableLayout } from "../../contract/several-tables.ts";
import type { DestinationAccess, Query } from "../../contract/source.ts";
import { otlpTables } from "../declaration/description.ts";
import type { PushConfig } from "../declaration/kind.ts";

export type OtlpTable = (typeof otlpTables)[number];

type TtlDays = NonNullable<PushConfig["ttlDays"]>;

/** A column with its type, and what follows it. */
type ColumnText = readonly [name: string, type: string, more?: string];

type Definition = {
  readonly columns: readonly ColumnText[];
  readonly indexes: readonly string[];
  /** Where the engine has text indexes, the indexes are such. */
  readonly textIndexes?: true;
  readonly partition: string;
  readonly order: string;
  /** The time from which `ttlDays` count. */
  readonly time: string;
};

const label = "LowCardinality(String)";
const map = "Map(LowCardinality(String), String)";
const zstd = "CODEC(ZSTD(1))";
const delta = "CODEC(Delta, ZSTD(1))";

function textsOf(...names: string[]): ColumnText[] {
  return names.map((name) => [name, "String", zstd]);
}

function column(type: string, ...names: string[]): ColumnText[] {
  return names.map((name) => [name, type, zstd]);
}

/** Indexes of the keys and of the values of maps. */
function mapIndexes(...maps: readonly (readonly [short: string, column: string])[]): string[] {
  return maps.flatMap(([short, name]) => [
    `INDEX idx_${short}_attr_key mapKeys(${name}) TYPE bloom_filter(0.01) GRANULARITY 1`,
    `INDEX idx_${short}_attr_value mapValues(${name}) TYPE bloom_filter(0.01) GRANULARITY 1`,
  ]);
}

const traceIndex = "INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1";

const materialized = [
  ...["k8s.cluster.name", "k8s.container.name", "k8s.deployment.name", "k8s.namespace.name", "k8s.node.name"],
  ...["k8s.pod.name", "k8s.pod.uid", "deployment.environment.name"],
].map((key): ColumnText => [`__otel_materialized_${key}`, label, `MATERIALIZED ResourceAttributes['${key}'] ${zstd}`]);

const logs: Definition = {
  columns: [
    ["Timestamp", "DateTime64(9)", "CODEC(Delta(8), ZSTD(1))"],
    ...textsOf("TraceId", "SpanId"),
    ["TraceFlags", "UInt8"],
    ...column(label, "SeverityText"),
    ["SeverityNumber", "UInt8"],
    ...column(label, "ServiceName"),
    ...textsOf("Body"),
    ...column(label, "ResourceSchemaUrl"),
    ...column(map, "ResourceAttributes"),
    ...column(label, "ScopeSchemaUrl"),
    ...textsOf("ScopeName"),
    ...column(label, "ScopeVersion"),
    ...column(map, "ScopeAttributes", "LogAttributes"),
    ...textsOf("EventName"),
    ...materialized,
    // The exporter before 0.151 had these, which dashboards read.
    ["TimestampTime", "DateTime", "ALIAS toDateTime(Timestamp)"],
  ],
  indexes: [
    traceIndex,
    ...mapIndexes(["res", "ResourceAttributes"], ["scope", "ScopeAttributes"], ["log", "LogAttributes"]),
    "INDEX idx_lower_body lower(Body) TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8",
  ],
  textIndexes: true,
  partition: "toDate(Timestamp)",
  order: "toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp",
  time: "Timestamp",
};

const traces: Definition = {
  columns: [
    ["Timestamp", "DateTime64(9)", delta],
    ...textsOf("TraceId", "SpanId", "ParentSpanId", "TraceState"),
    ...column(label, "SpanName", "SpanKind", "ServiceName"),
    ...column(map, "ResourceAttributes"),
    ...textsOf("ScopeName", "ScopeVersion"),
    ...column(map, "SpanAttributes"),
    ...column("UInt64", "Duration"),
    ...column(label, "StatusCode"),
    ...textsOf("StatusMessage"),
    ["Events.Timestamp", "Array(DateTime64(9))", zstd],
    ["Events.Name", `Array(${label})`, zstd],
    ["Events.Attributes", `Array(${map})`, zstd],
    ...column("Array(String)", "Links.TraceId", "Links.SpanId", "Links.TraceState"),
    ["Links.Attributes", `Array(${map})`, zstd],
  ],
  indexes: [
    traceIndex,
    ...mapIndexes(["res", "ResourceAttributes"], ["span", "SpanAttributes"]),
    "INDEX idx_duration Duration TYPE minmax GRANULARITY 1",
  ],
  partition: "toDate(Timestamp)",
  order: "ServiceName, SpanName, toDateTime(Timestamp)",
  time: "Timestamp",
};

const lookup: Definition = {
  columns: [...textsOf("TraceId"), ["Start", "DateTime", delta], ["End", "DateTime", delta]],
  indexes: ["INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1"],
  partition: "toDate(Start)",
  order: "TraceId, Start",
  time: "Start",
};

const exemplars: readonly ColumnText[] = [
  ["Exemplars.FilteredAttributes", `Array(${map})`, zstd],
  ["Exemplars.TimeUnix", "Array(DateTime)", zstd],
  ["Exemplars.Value", "Array(Float64)", zstd],
  ...column("Array(String)", "Exemplars.SpanId", "Exemplars.TraceId"),
];
const temporality = column("Int32", "AggregationTemporality");
const extremes = column("Float64", "Min", "Max");
const flags = column("UInt32", "Flags");
const total: readonly ColumnText[] = [["Count", "UInt64", delta], ...column("Float64", "Sum")];

/** A table of metrics, with the columns that differ. */
function metric(...own: readonly ColumnText[]): Definition {
  return {
    columns: [
      ...column(map, "ResourceAttributes"),
      ...textsOf("ResourceSchemaUrl", "ScopeName", "ScopeVersion"),
      ...column(map, "ScopeAttributes"),
      ...column("UInt32", "ScopeDroppedAttrCount"),
      ...textsOf("ScopeSchemaUrl"),
      ...column(label, "ServiceName"),
      ...column(label, "MetricName"),
      ...textsOf("MetricDescription", "MetricUnit"),
      ...column(map, "Attributes"),
      ["StartTimeUnix", "DateTime", delta],
      ["TimeUnix", "DateTime", delta],
      ...own,
    ],
    indexes: [
      ...mapIndexes(["res", "ResourceAttributes"], ["scope", "ScopeAttributes"]),
      "INDEX idx_attr_key mapKeys(Attributes) TYPE bloom_filter(0.01) GRANULARITY 1",
      "INDEX idx_attr_value mapValues(Attributes) TYPE bloom_filter(0.01) GRANULARITY 1",
      "INDEX idx_time_minmax TimeUnix TYPE minmax GRANULARITY 1",
    ],
    partition: "toDate(TimeUnix)",
    order: "ServiceName, MetricName, toStartOfHour(TimeUnix), cityHash64(Attributes), TimeUnix",
    time: "TimeUnix",
  };
}

const definitions: Readonly<Record<OtlpTable, Definition>> = {
  otel_logs: logs,
  otel_traces: traces,
  otel_metrics_gauge: metric(...column("Float64", "Value"), ...flags, ...exemplars),
  otel_metrics_sum: metric(...[...column("Float64", "Value"), ...flags, ...exemplars, ...temporality], [
    "IsMonotonic",
    "Bool",
    delta,
  ]),
  otel_metrics_histogram: metric(
    ...[...total, ...column("Array(UInt64)", "BucketCounts"), ...column("Array(Float64)", "ExplicitBounds")],
    ...[...exemplars, ...flags, ...extremes, ...temporality],
  ),
  otel_metrics_exponential_histogram: metric(
    ...[...total, ...column("Int32", "Scale"), ...column("UInt64", "ZeroCount"), ...column("Int32", "PositiveOffset")],
    ...[...column("Array(UInt64)", "PositiveBucketCounts"), ...column("Int32", "NegativeOffset")],
    ...[...column("Array(UInt64)", "NegativeBucketCounts"), ...exemplars, ...flags, ...extremes, ...temporality],
  ),
  otel_metrics_summary: metric(
    ...[...total, ...column("Array(Float64)", "ValueAtQuantiles.Quantile", "ValueAtQuantiles.Value"), ...flags],
  ),
};

export function layout(): TableLayout[] {
  return otlpTables.map((table) => {
    const { order, columns } = definitions[table];
    return { table, sortingKey: order, columns: new Map(columns.map(([name, type]) => [name, type])) };
  });
}

/** Throws DESTINATION_INVALID for tables that exist and lack columns, such as those of an exporter before 0.151. */
export async function checkTables(query: Query, database: string): Promise<void> {
  const found = await query(
    "SELECT table, groupArray(name) AS names FROM system.columns WHERE database = {database:String} GROUP BY table",
    { params: { database } },
  );
  for (const { table, names } of found) {
    const definition = definitionOf(String(table));
    const lacks = (definition?.columns ?? []).filter(
      ([name, , more]) => !/^(ALIAS|MATERIALIZED)/.test(more ?? "") && !(names as string[]).includes(name),
    );
    if (lacks.length === 0) continue;
    const columns = lacks.map(([name]) => name).join(", ");
    const message = `The table ${database}.${table} exists and has no ${columns}. Add them, rename it, or choose another database.`;
    throw new AppError("DESTINATION_INVALID", message);
  }
}

/** Creates what is missing, and gives the tables the times after which rows are deleted. */
export async function prepareTables(
  { form: formOf, define, query }: Pick<DestinationAccess, "form" | "define" | "query">,
  database: string,
  ttlDays: TtlDays = {},
): Promise<void> {
  const form = await formOf();
  const [server] = await query("SELECT version() AS version");
  for (const sql of createStatements(database, { form, ttlDays, version: String(server?.version) })) await define(sql);
  const found = await query(
    "SELECT name, create_table_query AS definition FROM system.tables WHERE database = {database:String}",
    { params: { database } },
  );
  for (const { name, definition } of found) {
    const sql = changeOfTtl(database, String(name), String(definition), form, ttlDays);
    if (sql !== undefined) await define(sql);
  }
}

/** Without a setting a table keeps what it has: its owner may have given it a rule of another kind. */
function changeOfTtl(database: string, name: string, definition: string, form: TableForm, ttlDays: TtlDays) {
  const known = definitionOf(name);
  const days = ttlDays[signalOf(name)];
  if (known === undefined || days === undefined || definition.includes(`TTL ${ttl(known.time, days)}`))
    return undefined;
  return `ALTER TABLE ${tableName(database, name)}${onCluster(form)} MODIFY TTL ${ttl(known.time, days)}`;
}

function definitionOf(table: string): Definition | undefined {
  if (table === lookupTable) return lookup;
  return Object.hasOwn(definitions, table) ? definitions[table as OtlpTable] : undefined;
}

function signalOf(table: string): keyof TtlDays {
  if (table === "otel_logs") return "logs";
  return table === "otel_traces" || table === lookupTable ? "traces" : "metrics";
}

/** The statements that create what is missing, in order. */
function createStatements(database: string, { form, ttlDays, version }: Wanted): string[] {
  const [year = 0, month = 0] = version.split(".").map(Number);
  const hasText = year * 100 + month >= firstWithText;
  const create = (table: string, { indexes, ...definition }: Definition) => {
    const own = definition.textIndexes && hasText ? indexes.map(asTextIndex) : indexes;
    return createTable(database, table, { ...definition, indexes: own }, form, ttlDays[signalOf(table)]);
  };
  const view = tableName(database, "otel_traces_trace_id_ts_mv");
  return [
    ...otlpTables.map((table) => create(table, definitions[table])),
    create(lookupTable, lookup),
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view}${onCluster(form)} TO ${tableName(database, lookupTable)} ` +
      "AS SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End " +
      `FROM ${tableName(database, "otel_traces")} WHERE TraceId != '' GROUP BY TraceId`,
  ];
}

type Wanted = { readonly form: TableForm; readonly ttlDays: TtlDays; readonly version: string };

/** 26.2. */
const firstWithText = 2602;

/** An index of whole values, or of words where it was one of words. */
function asTextIndex(index: string): string {
  const tokenizer = index.includes("tokenbf_v1") ? "splitByNonAlpha" : "array";
  return index.replace(/ TYPE .*/, ` TYPE text(tokenizer = '${tokenizer}')`);
}

const lookupTable = "otel_traces_trace_id_ts";

function createTable(
  database: string,
  name: string,
  { columns, indexes, partition, order, time }: Definition,
  form: TableForm,
  days: number | undefined,
): string {
  const lines = columns.map(([of, type, more = ""]) => `${identifier(of)} ${type} ${more}`.trimEnd());
  const settings = ["index_granularity = 8192", "ttl_only_drop_parts = 1", ...windowSettings(form)];
  return [
    `CREATE TABLE IF NOT EXISTS ${tableName(database, name)}${onCluster(form)} (${[...lines, ...indexes].join(", ")})`,
    `ENGINE = ${engineName(form, "MergeTree")} PARTITION BY ${partition} ORDER BY (${order})`,
    ...(days === undefined ? [] : [`TTL ${ttl(time, days)}`]),
    `SETTINGS ${settings.join(", ")}`,
  ].join(" ");
}

function ttl(time: string, days: number): string {
  return `toDateTime(${time}) + toIntervalDay(${days})`;
}
