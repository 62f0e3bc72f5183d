/** What the address of a new alert keeps: the chart or the states that it is made of. */
import type { StateMetric } from "../../../../src/api/alerts.ts";
import { type ChartDefinition, chartDefinition } from "../../charts/definition.ts";
import { textsOf } from "../../lib/search.ts";
import { stateMetricOf } from "./states.ts";

export type NewAlertSearch = {
  /** Names the chart; the alert gets the same name. */
  readonly title?: string;
  readonly chart?: ChartDefinition;
  readonly metric?: StateMetric;
  /** `pipe:ID` or `service:ID`. */
  readonly limit?: string;
};

export function newAlertSearch(search: Record<string, unknown>): NewAlertSearch {
  const { chart, metric } = search;
  const known = stateMetricOf(metric);
  return {
    ...textsOf(search, "title", "limit"),
    ...(typeof chart === "object" && chart !== null ? { chart: chartDefinition(chart) } : {}),
    ...(known === undefined ? {} : { metric: known }),
  };
}
