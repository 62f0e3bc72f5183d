/** What an alert asks for, and what it cannot evaluate. */
import { expect, test } from "vitest";
import type { AlertDefinition } from "../../api/alerts.ts";
import { tile } from "../../api/dashboard-tiles.ts";
import { savedSearchBody } from "../../api/saved-searches.ts";
import { alertRequestOf, valueWithoutRows } from "./alert-request.ts";

const startMs = Date.UTC(2024, 4, 1);
const window = { startMs, endMs: startMs + 300_000 };
const sourceId = "s";
const definition = { threshold: 1, thresholdType: "above", interval: "5m" } as AlertDefinition;

function ofSearch(more: object, groupBy?: string) {
  const search = savedSearchBody.parse({ name: "n", sourceId, ...more });
  return alertRequestOf({ ...definition, ...(groupBy && { groupBy }) }, { kind: "savedSearch", search }, window);
}

function ofTile(config: object, more: object = {}) {
  const place = { name: "t", x: 0, y: 0, w: 1, h: 1 };
  return alertRequestOf(definition, { kind: "tile", tile: tile.parse({ ...place, config, ...more }) }, window);
}

test("rows of a search are counted in the window, whose end belongs to the next one, without waking a service", () => {
  const request = ofSearch({ where: "a:b" }, "Service, Attributes['a,b']");
  expect(request).toMatchObject({ startTime: startMs, endTime: startMs + 299_999, granularity: "none", wake: "never" });
  expect(request.series).toEqual([
    expect.objectContaining({ aggFn: "count", where: "a:b", groupBy: ["Service", "Attributes['a,b']"] }),
  ]);
});

test("filters of a search hold beside its condition", () => {
  const filters = [
    { type: "sql", condition: "a = 1 OR b = 2" },
    { type: "sql_ast", operator: "IN", left: "c", right: "(1, 2)" },
  ];
  expect(ofSearch({ where: "d:4", filters }).series[0]).toMatchObject({
    ...{ where: "d:4", whereLanguage: "lucene" },
    filters: [filters[0], { type: "sql", condition: "c IN (1, 2)" }],
  });
});

const select = [{ aggFn: "quantile", level: 0.99, valueExpression: "Duration", where: "a:b" }];

test("a tile is asked for with its own series", () => {
  const { series } = ofTile({ displayType: "line", sourceId, select, groupBy: "Service" });
  expect(series).toEqual([
    expect.objectContaining({ aggFn: "quantile", level: 0.99, field: "Duration", where: "a:b", groupBy: ["Service"] }),
  ]);
  const two = [{ aggFn: "count", where: "e:1" }, { aggFn: "count" }];
  expect(ofTile({ displayType: "stacked_bar", sourceId, select: two, asRatio: true })).toMatchObject({
    seriesReturnType: "ratio",
  });
  const metric = [{ aggFn: "avg", metricName: "cpu", metricType: "gauge" }];
  expect(ofTile({ displayType: "number", sourceId, select: metric }).series[0]).toMatchObject({
    ...{ metricName: "cpu", metricDataType: "gauge" },
  });
});

test.each([
  [{ displayType: "table", sourceId, select }, "type table"],
  [{ displayType: "markdown" }, "type markdown"],
  [{ displayType: "line", configType: "sql", connectionId: "c", sqlTemplate: "SELECT 1" }, "statement"],
  [{ displayType: "line", sourceId, select, formulas: [{ expression: "A" }] }, "formulas"],
  [{ displayType: "line", sourceId, select: Array(6).fill({ aggFn: "count" }) }, "At most 5 series"],
])("a tile that cannot be evaluated is refused: %j", (config, message) => {
  expect(() => ofTile(config)).toThrow(message);
});

test("without rows, what is counted is zero, and everything else has no value", () => {
  expect(valueWithoutRows(ofSearch({}))).toBe(0);
  expect(valueWithoutRows(ofSearch({}, "Service"))).toBeUndefined();
  expect(valueWithoutRows(ofTile({ displayType: "line", sourceId, select }))).toBeUndefined();
});
