import { expect, test } from "vitest";
import {
  dashboardOf,
  emptyDashboard,
  moved,
  newChartPanel,
  pipeTemplate,
  resized,
  sourceTemplate,
} from "./dashboard.ts";
import { newChart } from "./definition.ts";

const panels = ["a", "b", "c"].map((title) => newChartPanel(title, newChart("s")));
const titles = (list: readonly { title: string }[]) => list.map(({ title }) => title).join("");

test("a panel moves by places and stays at the ends", () => {
  const id = panels[0]?.id as string;
  expect([1, 2, 9, -1].map((steps) => titles(moved(panels, id, steps)))).toEqual(["bac", "bca", "bca", "abc"]);
  expect(moved(panels, "unknown", 1)).toBe(panels);
  expect([resized(6, 1), resized(12, 1), resized(3, -1)]).toEqual([8, 12, 3]);
});

test("an export is read again as it was", () => {
  const variables = [{ name: "Level", sourceId: "s", field: "level" }];
  const dashboard = { from: "now-6h", to: "now", panels: [...panels, ...pipeTemplate("s", "p").panels], variables };
  expect(dashboardOf(JSON.parse(JSON.stringify(dashboard)))).toEqual(dashboard);
});

test("what cannot be read is left out, and equal ids become different", () => {
  expect(dashboardOf("x")).toEqual(emptyDashboard);
  const read = dashboardOf({
    panels: [null, { kind: "pipe", pipeId: 5 }, { kind: "chart", id: "1", width: 7 }, { kind: "chart", id: "1" }],
  });
  expect(read.panels).toHaveLength(2);
  expect(read.panels.map(({ width }) => width)).toEqual([6, 6]);
  expect(new Set(read.panels.map(({ id }) => id)).size).toBe(2);
});

test("a template has the panels that the columns of the source allow", () => {
  expect(sourceTemplate({ id: "s" }).panels).toHaveLength(2);
  const all = { id: "s", severityTextExpression: "Level", serviceNameExpression: "Service", durationExpression: "ms" };
  expect(sourceTemplate(all).panels).toHaveLength(6);
  expect(sourceTemplate(all).variables.map(({ field }) => field)).toEqual(["Service", "Level"]);
});
