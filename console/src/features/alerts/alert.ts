/** Alerts as people read them: their order, their condition in words. */

import type { AlertCondition } from "../../../../src/api/alert-condition.ts";
import type { StateMetric } from "../../../../src/api/alerts.ts";
import type { OperationResult } from "../../api/client.ts";
import { valueText } from "../../charts/format.ts";
import { durationText } from "../../lib/format.ts";
import { isYesOrNo, stateMetrics } from "./states.ts";

export type Alert = OperationResult<"listAlerts">["data"][number];
export type AlertState = Alert["state"];
export type Evaluation = OperationResult<"listAlertEvaluations">["data"][number];
export type ThresholdType = Alert["thresholdType"];
export type Interval = Alert["interval"];

/** In the order of the list. */
export const alertStates: readonly AlertState[] = ["ALERT", "INSUFFICIENT_DATA", "OK", "DISABLED"];

/** Those that fire first, then those that nothing is known of; within a state by name. */
export function sortedAlerts(alerts: readonly Alert[]): Alert[] {
  return alerts.toSorted(
    (a, b) => alertStates.indexOf(a.state) - alertStates.indexOf(b.state) || alertName(a).localeCompare(alertName(b)),
  );
}

/** The name of an alert; one without has the begin of its id. */
export function alertName({ name, displayName, id }: Pick<Alert, "name" | "displayName" | "id">): string {
  return name ?? displayName ?? `Alert ${id.slice(0, 8)}`;
}

/** The newest error of delivery of any of them. */
export function lastFailure(alerts: readonly Alert[]): Alert["executionErrors"][number] | undefined {
  const failures = alerts
    .flatMap(({ executionErrors }) => executionErrors)
    .filter(({ type }) => type === "WEBHOOK_ERROR");
  return failures.toSorted((a, b) => b.timestamp.localeCompare(a.timestamp))[0];
}

const minutes: Readonly<Record<Interval, number>> = {
  ...{ "1m": 1, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "6h": 360, "12h": 720, "1d": 1440 },
};
export const intervals = Object.keys(minutes) as readonly Interval[];

/** The length of a window in ms. */
export function intervalMs(interval: Interval): number {
  return minutes[interval] * 60_000;
}

/** `5 min`. */
export function intervalText(interval: Interval): string {
  return durationText(minutes[interval] * 60);
}

export const thresholdTypes = {
  above: "at least",
  above_exclusive: "more than",
  below: "less than",
  below_or_equal: "at most",
  equal: "exactly",
  not_equal: "anything but",
  between: "from … to …",
  not_between: "outside of … to …",
} as const satisfies Record<ThresholdType, string>;

export function isRange(type: ThresholdType): boolean {
  return type === "between" || type === "not_between";
}

/** `at least 10`, `outside of 5 to 20`. */
export function thresholdText({ thresholdType, threshold, thresholdMax = threshold }: AlertCondition): string {
  const [low, high] = [valueText(threshold, "number"), valueText(thresholdMax, "number")];
  if (thresholdType === "between") return `from ${low} to ${high}`;
  if (thresholdType === "not_between") return `outside of ${low} to ${high}`;
  return `${thresholdTypes[thresholdType]} ${low}`;
}

/** The condition of an alert of states: `Seconds that a pipe is behind: at least 300, looked at every 5 min`. */
function stateConditionText(alert: Alert, metric: StateMetric): string {
  const value = isYesOrNo(metric) ? "" : `: ${thresholdText(alert)}`;
  return `${stateMetrics[metric].label}${value}, looked at every ${intervalText(alert.interval)}`;
}

/** The whole condition: `at least 10 rows in 5 min, in any group of Service, 3 windows in a row`. */
export function conditionText(alert: Alert): string {
  const { source, interval, groupBy, numConsecutiveWindows: windows = 1 } = alert;
  const often = windows === 1 ? "" : `, ${windows} windows in a row`;
  if (source === "state" && alert.metric !== undefined) return stateConditionText(alert, alert.metric) + often;
  const value = isRange(alert.thresholdType) ? "a value" : "a value of";
  const what = source === "tile" ? `${value} ${thresholdText(alert)}` : `${thresholdText(alert)} rows`;
  const group = groupBy === undefined || groupBy.trim() === "" ? "" : `, in any group of ${groupBy.trim()}`;
  return `${what} in ${intervalText(interval)}${group}${often}`;
}
