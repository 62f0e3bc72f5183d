/** What the address of a dashboard keeps: the range, values of variables, and how often it is asked for again. */
import { type VariableValues, valuesOf } from "../../charts/variables.ts";
import { oneOf, textsOf } from "../../lib/search.ts";

export const refreshes = ["off", "10s", "1m"] as const;

export type DashboardSearch = {
  /** Absent: the range that the dashboard was saved with. */
  readonly from?: string;
  readonly to?: string;
  readonly refresh?: (typeof refreshes)[number];
  /** Chosen values of variables by name. */
  readonly is?: VariableValues;
};

export function dashboardSearch(search: Record<string, unknown>): DashboardSearch {
  const is = valuesOf(search.is);
  const values = Object.keys(is).length === 0 ? {} : { is };
  return { ...textsOf(search, "from", "to"), ...values, ...oneOf(search, "refresh", refreshes.slice(1)) };
}
