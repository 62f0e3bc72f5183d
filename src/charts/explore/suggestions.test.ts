/** Which sources are suggested for tables. */
import { expect, test } from "vitest";
import { type KnownTable, suggestionsFor } from "./suggestions.ts";

const serviceId = "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11";
const time = "DateTime64(9)";
const map = "Map(LowCardinality(String), String)";
const tableOf = (table: string, columns: Record<string, string>, sortingKey = ""): KnownTable => ({
  ...{ database: "otel", table, sortingKey },
  columns: new Map(Object.entries(columns)),
});
const point = { MetricName: "String", Attributes: map, ResourceAttributes: map, TimeUnix: time };

test("tables of the OpenTelemetry layout come first, metrics of one collector together", () => {
  const logs = { Timestamp: time, TimestampTime: "DateTime", ServiceName: "String", SeverityText: "String" };
  const made = suggestionsFor(
    [
      tableOf("events", { id: "UInt64", at: "DateTime" }),
      tableOf("otel_logs", { ...logs, Body: "String", LogAttributes: map }, "ServiceName, TimestampTime, Timestamp"),
      tableOf("otel_metrics_gauge", { ...point, Value: "Float64" }),
      tableOf("otel_metrics_histogram", { ...point, BucketCounts: "Array(UInt64)", ExplicitBounds: "Array(Float64)" }),
      tableOf("otel_metrics_sum", { ...point, Value: "Float64", AggregationTemporality: "Int32" }),
      tableOf("otel_traces", {
        ...{ Timestamp: time, TraceId: "String", SpanId: "String", SpanName: "String", Duration: "UInt64" },
      }),
    ],
    serviceId,
  );
  const from = (tableName: string) => ({ databaseName: "otel", tableName });
  expect(made).toEqual([
    {
      ...{ name: "otel_logs", kind: "log", serviceId, from: from("otel_logs") },
      ...{ timestampValueExpression: "TimestampTime, Timestamp", serviceNameExpression: "ServiceName" },
      ...{ bodyExpression: "Body", implicitColumnExpression: "Body", severityTextExpression: "SeverityText" },
      eventAttributesExpression: "LogAttributes",
    },
    {
      ...{ name: "otel_traces", kind: "trace", serviceId, from: from("otel_traces") },
      ...{ timestampValueExpression: "Timestamp", durationExpression: "Duration", durationPrecision: 9 },
      implicitColumnExpression: "SpanName",
    },
    {
      ...{ name: "otel_metrics", kind: "metric", serviceId, from: from("") },
      ...{ timestampValueExpression: "TimeUnix", resourceAttributesExpression: "ResourceAttributes" },
      metricTables: {
        ...{ gauge: "otel_metrics_gauge", sum: "otel_metrics_sum", histogram: "otel_metrics_histogram" },
      },
    },
    { name: "events", kind: "table", serviceId, from: from("events"), timestampValueExpression: "at" },
  ]);
});

test.each([
  [{ a: "Date", b: "DateTime", c: "Nullable(DateTime64(3))" }, "", "b"],
  [{ a: "Date", b: "DateTime", c: "DateTime64(3)" }, "tenant, c", "c"],
  [{ a: "Date", n: "UInt8" }, "n", "a"],
  [{ "odd name": "DateTime" }, "", "`odd name`"],
  [{ n: "UInt8", s: "String" }, "", undefined],
])("the time of %j sorted by '%s' is %s", (columns, sortingKey, wanted) => {
  const [made] = suggestionsFor([tableOf("t", columns as Record<string, string>, sortingKey)], serviceId);
  expect(made?.timestampValueExpression).toBe(wanted);
});
