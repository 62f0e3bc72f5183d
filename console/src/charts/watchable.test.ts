import { expect, test } from "vitest";
import { chartDefinition } from "./definition.ts";
import { chartOfSearch, chartOfTile, chartRefusal, countsRows, searchOf, tileOf, tileRefusal } from "./watchable.ts";

const errors = { aggFn: "count", where: "level:error", whereLanguage: "lucene" };
const slow = { aggFn: "quantile", field: "duration", level: 0.99, where: "s = 'web'", whereLanguage: "sql" };
const chart = (...series: object[]) => chartDefinition({ sourceId: "s", series, groupBy: "service" });
const tile = (config: object) => ({ id: "t", name: "T", x: 0, y: 0, w: 6, h: 3, config }) as never;
const search = (more: object) =>
  ({
    id: "i",
    name: "n",
    sourceId: "s",
    select: "",
    where: "a:1",
    whereLanguage: "lucene",
    tags: [],
    ...more,
  }) as never;

test("charts of series can be watched; formulas, counts of a field and incomplete series cannot", () => {
  expect(chartRefusal(chart(errors))).toBeUndefined();
  expect(chartRefusal(chart(errors, slow))).toBeUndefined();
  expect(chartRefusal({ ...chart(errors), formula: "series_0 * 2" })).toBe("An alert watches series, not a formula.");
  expect(chartRefusal(chart(errors, { ...errors, field: "x" }))).toContain("series 2");
  expect(chartRefusal(chart({ ...slow, field: " " }))).toBe("Series 1 needs a field for quantile.");
});

test("counted rows become a saved search, and come back as the same chart", () => {
  const counted = chart(errors);
  expect(countsRows(counted)).toBe(true);
  expect(searchOf("n", counted)).toEqual({ name: "n", sourceId: "s", where: "level:error", whereLanguage: "lucene" });
  const back = chartOfSearch(search(searchOf("n", counted)), "service");
  expect(back).toMatchObject({ sourceId: "s", series: counted.series, groupBy: "service" });
});

test("other values become a tile, and come back as the same chart", () => {
  const values = chart(slow, errors);
  expect(countsRows(values)).toBe(false);
  const made = tileOf("n", values);
  expect(made.config).toEqual({
    ...{ displayType: "line", sourceId: "s", groupBy: "service" },
    select: [
      { aggFn: "quantile", valueExpression: "duration", level: 0.99, where: "s = 'web'", whereLanguage: "sql" },
      { aggFn: "count", where: "level:error", whereLanguage: "lucene" },
    ],
  });
  expect(chartOfTile(tile(made.config as object))).toEqual({ ...values, display: "line" });
});

test("filters of a search are part of its chart if they are of its language", () => {
  const filters = [{ type: "lucene", condition: "b:2" }];
  expect(chartOfSearch(search({ filters }))?.series[0]?.where).toBe("(a:1) AND (b:2)");
  const ast = [{ type: "sql_ast", operator: "=", left: "b", right: "2" }];
  expect(chartOfSearch(search({ filters: ast }))).toBeUndefined();
  expect(chartOfSearch(search({ where: "", filters: ast }))?.series[0]).toMatchObject({
    ...{ where: "b = 2", whereLanguage: "sql" },
  });
});

test.each([
  [{ displayType: "line", configType: "sql", sqlTemplate: "SELECT 1" }, "a tile of a statement"],
  [{ displayType: "table", select: [{ aggFn: "count" }] }, "a tile of type table"],
  [{ displayType: "line", select: [{ aggFn: "count" }], formulas: [{}] }, "a tile with formulas"],
  [{ displayType: "line", select: new Array(6).fill({ aggFn: "count" }) }, "a tile with more than 5 series"],
  [{ displayType: "number", select: [{ aggFn: "count" }] }, undefined],
])("a tile %j is refused as the server refuses it: %s", (config, refusal) => {
  expect(tileRefusal(tile(config))).toBe(refusal);
});

test("a tile of metrics or of a ratio can be watched, but is not drawn", () => {
  const metric = tile({ displayType: "line", sourceId: "s", select: [{ aggFn: "avg", metricName: "cpu" }] });
  const ratio = tile({ displayType: "line", sourceId: "s", select: [errors, errors], asRatio: true });
  expect([metric, ratio].map(tileRefusal)).toEqual([undefined, undefined]);
  expect([metric, ratio].map(chartOfTile)).toEqual([undefined, undefined]);
});
