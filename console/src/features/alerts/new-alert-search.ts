/** What the address of a new alert keeps: the chart that it is made of. */
import { type ChartDefinition, chartDefinition } from "../../charts/definition.ts";

export type NewAlertSearch = {
  /** Of the chart; the alert gets the same name. */
  readonly title?: string;
  readonly chart?: ChartDefinition;
};

export function newAlertSearch({ title, chart }: Record<string, unknown>): NewAlertSearch {
  return {
    ...(typeof title === "string" && title !== "" ? { title } : {}),
    ...(typeof chart === "object" && chart !== null ? { chart: chartDefinition(chart) } : {}),
  };
}
