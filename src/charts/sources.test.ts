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

test("members of other clients come back, at every depth", () => {
  const more = {
    traceSourceId: "t",
    highlightedTraceAttributeExpressions: [{ sqlExpression: "a", alias: "b" }],
    from: { ...body.from, engine: "MergeTree" },
    metricTables: { gauge: "g", "exponential histogram": "e" },
  };
  expect(shown({ ...body, ...more })).toMatchObject(more);
});

test("a record that is sent back is the same record", () => {
  const record = shown(body);
  expect(shown({ ...record, id: "another" })).toEqual(record);
});

test.each([
  [{ bodyExpresion: "Body" }, "bodyExpresion"],
  [{ from: { ...body.from, tablename: "x" } }, "from.tablename"],
  [{ metricTables: { gauge: "g", histograms: "h" } }, "metricTables.histograms"],
])("a misspelt member is refused: %j", (more, path) => {
  const { error } = sourceBody.safeParse({ ...body, ...more });
  expect(error?.issues.map((issue) => [issue.path.join("."), issue.message])).toEqual([
    [path, expect.stringContaining("did you mean")],
  ]);
});
