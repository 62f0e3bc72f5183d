import { expect, test } from "vitest";
import { newChart, newSeries } from "./definition.ts";
import { problemOf, valuesOf, variablesOf, withVariables } from "./variables.ts";

const level = { name: "Level", sourceId: "logs", field: "level" };
const host = { name: "Host", sourceId: "logs", field: "attributes['host']" };

test("a value is in the filter of every series of its source, in the language of each", () => {
  const chart = {
    ...newChart("logs"),
    series: [newSeries, { ...newSeries, where: "toString(level) = 'error' OR b", whereLanguage: "sql" as const }],
  };
  const filtered = withVariables(chart, [level, host], { Level: "error", Host: "a'b" });
  expect(filtered.series.map(({ where }) => where)).toEqual([
    'level:"error" AND attributes[\'host\']:"a\'b"',
    "(toString(level) = 'error' OR b) AND toString(level) = 'error' AND toString(attributes['host']) = 'a\\'b'",
  ]);
});

test("without a value, and for other sources, a chart stays as it is", () => {
  const chart = newChart("logs");
  expect(withVariables(chart, [level], {})).toBe(chart);
  expect(withVariables(chart, [level], { Level: "" })).toBe(chart);
  expect(withVariables(newChart("other"), [level], { Level: "error" }).series).toEqual(chart.series);
});

test("what cannot be read is left out, and a name counts once", () => {
  expect(variablesOf([level, { ...host, name: "Level" }, { ...host, field: " " }, null, { name: "x" }])).toEqual([
    level,
  ]);
  expect(variablesOf("x")).toEqual([]);
  expect(valuesOf({ Level: "error", Code: 500, Host: "" })).toEqual({ Level: "error", Code: "500" });
  expect(valuesOf("x")).toEqual({});
});

test("what would be left out is told before it is kept", () => {
  expect(problemOf([level, host])).toBeUndefined();
  expect(problemOf([level, { ...host, name: " " }])).toBe("Each variable needs a name.");
  expect(problemOf([{ ...host, field: "" }])).toContain("Host needs a field");
  expect(problemOf([level, { ...host, name: "Level" }])).toContain("have the name Level");
});
