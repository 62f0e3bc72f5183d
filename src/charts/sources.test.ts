/** Chart sources: what a client sends is kept and shown, or refused by name. */
import { expect, test } from "vitest";
import { sourceBody } from "../api/chart-sources.ts";
import { chartSourceRecordOf, sourceContent } from "./sources.ts";

const serviceId = "7b8c2f0e-7b9e-4c53-8a58-0f8d3f5f2a10";
const stamp = "2024-01-01T00:00:00.000Z";
const body = {
  ...{ name: "logs", kind: "log", serviceId, timestampValueExpression: "Timestamp" },
  from: { databaseName: "otel", tableName: "otel_logs" },
};

function shown(sent: object) {
  const content = sourceContent(sourceBody.parse(sent));
  const row = { ...content, id: serviceId, organizationId: "o", version: 1, createdAt: stamp, updatedAt: stamp };
  return chartSourceRecordOf({ ...row, definition: JSON.parse(JSON.stringify(row.definition)) });
}

const attributes = [{ sqlExpression: "a['b']", luceneExpression: "a.b", alias: "b" }];

test.each([
  {
    kind: "log",
    ...{ displayedTimestampValueExpression: "T", serviceVersionExpression: "V", knownColumnsListExpression: "A, B" },
    ...{ traceIdExpression: "TraceId", spanIdExpression: "SpanId", traceSourceId: "t", metricSourceId: "m" },
    ...{ highlightedTraceAttributeExpressions: attributes, highlightedRowAttributeExpressions: attributes },
    ...{ useTextIndexForImplicitColumn: "auto", orderByExpression: "Timestamp DESC", tableFilterExpression: "a = 1" },
    querySettings: [{ setting: "max_threads", value: "4" }],
    metadataMaterializedViews: { keyRollupTable: "keys" },
  },
  {
    kind: "trace",
    ...{ durationExpression: "Duration", durationPrecision: 9, parentSpanIdExpression: "ParentSpanId" },
    ...{ spanNameExpression: "SpanName", spanKindExpression: "SpanKind", spanEventsValueExpression: "Events" },
    ...{ statusCodeExpression: "StatusCode", statusMessageExpression: "StatusMessage" },
    ...{ logSourceId: "l", sessionSourceId: "s", spanLinksValueExpression: "Links", sampleRateExpression: "rate" },
  },
  { kind: "session", traceSourceId: "t" },
  { kind: "metric", metricTables: { gauge: "g", summary: "s", "exponential histogram": "e" } },
])("every member of a source of kind $kind comes back", (more) => {
  expect(shown({ ...body, ...more })).toMatchObject(more);
});

test("a rollup has any size of a bucket, and columns of every aggregate", () => {
  const rollup = {
    ...{ databaseName: "otel", tableName: "r", timestampColumn: "t", dimensionColumns: "a", minGranularity: "15s" },
    aggregatedColumns: [
      { aggFn: "count", mvColumn: "n" },
      { aggFn: "quantile", sourceColumn: "Duration", mvColumn: "q" },
    ],
  };
  expect(shown({ ...body, materializedViews: [rollup] }).materializedViews).toEqual([rollup]);
  const wrong = { ...body, materializedViews: [{ ...rollup, minGranularity: "15 seconds" }] };
  expect(sourceBody.safeParse(wrong).error?.issues.map(({ path }) => path.join("."))).toEqual([
    "materializedViews.0.minGranularity",
  ]);
});

test("null stands for a member that is not set", () => {
  expect(shown({ ...body, bodyExpression: null, logSourceId: null, querySettings: null })).toEqual(shown(body));
});

test("a stored source of an earlier version is shown whole, with members that are refused today", () => {
  const definition = { ...body, from: { ...body.from, engine: "MergeTree" }, another: [1] };
  const row = { id: serviceId, organizationId: "o", version: 1, createdAt: stamp, updatedAt: stamp };
  const source = { ...row, serviceId, name: "logs", kind: "log", definition };
  expect(chartSourceRecordOf(source)).toMatchObject(definition);
});

test("a record that is sent back is the same record", () => {
  const record = shown(body);
  expect(shown({ ...record, id: "another" })).toEqual(record);
});

test.each([
  [{ bodyExpresion: "Body" }, "bodyExpresion", "did you mean bodyExpression?"],
  [{ from: { ...body.from, tablename: "x" } }, "from.tablename", "did you mean tableName?"],
  [{ metricTables: { gauge: "g", histograms: "h" } }, "metricTables.histograms", "did you mean histogram?"],
  [{ colour: "red" }, "colour", "is not a known member"],
  [{ querySettings: [{ setting: "a", value: "b", unit: "c" }] }, "querySettings.0.unit", "is not a known member"],
  [{ kind: "session" }, "traceSourceId", "is required"],
])("%j is refused", (more, path, message) => {
  const { error } = sourceBody.safeParse({ ...body, ...more });
  expect(error?.issues.map((issue) => [issue.path.join("."), issue.message])).toEqual([
    [path, expect.stringContaining(message)],
  ]);
});
