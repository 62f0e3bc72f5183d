import { expect, test } from "vitest";
import {
  dashboardOf,
  emptyDashboard,
  nearestSize,
  newPanel,
  nextSize,
  panelHeights,
  panelWidths,
  pipeTemplate,
  placed,
  sourceTemplate,
} from "./dashboard.ts";
import { newChart } from "./definition.ts";

const panels = ["a", "b", "c"].map((title) => newPanel(title, { kind: "chart", chart: newChart("s") }));
const titles = (list: readonly { title: string }[]) => list.map(({ title }) => title).join("");

test("a panel moves to a place and stays within the ends", () => {
  const id = panels[0]?.id as string;
  expect([1, 2, 9, -1].map((to) => titles(placed(panels, id, to)))).toEqual(["bac", "bca", "bca", "abc"]);
  expect(placed(panels, "unknown", 1)).toBe(panels);
});

test("sizes are those that there are", () => {
  expect([nextSize(panelWidths, 6, 1), nextSize(panelWidths, 12, 1), nextSize(panelHeights, 180, -1)]).toEqual([
    8, 12, 180,
  ]);
  expect([nearestSize(panelWidths, 6.9), nearestSize(panelWidths, 99), nearestSize(panelHeights, -5)]).toEqual([
    6, 12, 180,
  ]);
});

test("an export is read again as it was", () => {
  const variables = [{ name: "Level", sourceId: "s", field: "level" }];
  const look = { display: "stacked", time: "t", values: ["n"], group: "g" } as const;
  const statement = { kind: "statement", serviceId: "s", query: "SELECT 1", params: { a: "1" }, look } as const;
  const others = [...pipeTemplate("s", "p").panels, newPanel("d", statement)];
  const dashboard = { from: "now-6h", to: "now", panels: [...panels, ...others], variables };
  expect(dashboardOf(JSON.parse(JSON.stringify(dashboard)))).toEqual(dashboard);
});

test("what cannot be read is left out, and equal ids become different", () => {
  expect(dashboardOf("x")).toEqual(emptyDashboard);
  const read = dashboardOf({
    panels: [
      null,
      { kind: "pipe", pipeId: 5 },
      { kind: "statement", serviceId: "s" },
      { kind: "chart", id: "1", width: 7 },
      { kind: "chart", id: "1" },
    ],
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
