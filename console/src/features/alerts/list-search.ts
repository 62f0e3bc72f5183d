/** Filters of the list in the address. */
import { oneOf, textsOf } from "../../lib/search.ts";
import { type Alert, alertName, alertStates } from "./alert.ts";

export function listSearch(search: Record<string, unknown>) {
  return { ...textsOf(search, "q"), ...oneOf(search, "state", alertStates) };
}

/** The alerts of this state whose name has the text or whose id begins with it. */
export function matchingAlerts(alerts: readonly Alert[], { q = "", state }: ReturnType<typeof listSearch>): Alert[] {
  const text = q.trim().toLowerCase();
  return alerts.filter(
    (one) =>
      (state === undefined || one.state === state) &&
      (alertName(one).toLowerCase().includes(text) || one.id.startsWith(text)),
  );
}
