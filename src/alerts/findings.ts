/** From the values of a window to the state of an alert, and to what is told of it. */
import type { AlertError, AlertReading } from "../api/alerts.ts";
import type { AlertWindow } from "../charts/alerts/alert-request.ts";
import { AppError } from "../lib/errors.ts";
import type { AlertEvent, AlertFinding } from "../store/saved/alert-evaluations.ts";
import type { Alert } from "../store/saved/alerts.ts";

/** What a window holds: a value per group and series. */
export type WindowValues = {
  readonly readings: readonly AlertReading[];
  readonly isGrouped: boolean;
  /** Counters that the next evaluation subtracts, by what they count. */
  readonly totals?: Readonly<Record<string, number>>;
};

/** Readings that are kept of an evaluation, and told. */
const keptReadings = 20;
/** Failures of notifications are shown with the alert this long. */
const webhookErrorMs = 24 * 3_600_000;
const keptErrors = 10;

/** What the values of a window mean for the alert. */
export function findingOf(
  alert: Alert,
  window: AlertWindow,
  { readings: found, isGrouped, totals }: WindowValues,
): AlertFinding {
  const { noData = "keep", numConsecutiveWindows = 1 } = alert.definition;
  const readings = [...found].sort((a, b) => Number(b.fires) - Number(a.fires)).slice(0, keptReadings);
  const shared = { ...timesOf(window), readings, errors: olderErrors(alert), ...(totals && { totals }) };
  const isEmpty = found.length === 0;
  const message = isEmpty ? "There is no value in the window." : null;
  if (isEmpty && !isGrouped && noData === "keep") {
    return { ...shared, state: "INSUFFICIENT_DATA", message, firingWindows: 0 };
  }
  const before = follows(alert, shared.windowStart) ? alert.firingWindows : 0;
  const isFulfilled = isEmpty ? noData === "alert" : found.some((one) => one.fires);
  const firingWindows = isFulfilled ? before + 1 : 0;
  const isAlert = firingWindows >= numConsecutiveWindows;
  // An alert that is told stays one while its condition is fulfilled.
  const stays = firingWindows > 0 && alert.notifiedState === "ALERT";
  return {
    ...shared,
    state: isAlert || stays ? "ALERT" : "OK",
    message: noData === "alert" ? message : null,
    firingWindows,
  };
}

/** Whether the window comes right after the last one that was evaluated, of the same definition. */
function follows({ evaluatedUntil, evaluatedVersion, version }: Alert, windowStart: string): boolean {
  return evaluatedVersion === version && evaluatedUntil === windowStart;
}

/** A window that could not be read. */
export function failedFindingOf(alert: Alert, window: AlertWindow, error: unknown): AlertFinding {
  const isPublic = error instanceof AppError;
  const message = isPublic ? error.message : "The evaluation failed.";
  const type = !isPublic ? "UNKNOWN" : isInvalid(error) ? "INVALID_ALERT" : "QUERY_ERROR";
  const latest: AlertError = { timestamp: new Date().toISOString(), type, message };
  const errors = [latest, ...olderErrors(alert)].slice(0, keptErrors);
  return { ...timesOf(window), state: "INSUFFICIENT_DATA", message, readings: [], firingWindows: 0, errors };
}

function isInvalid({ code }: AppError): boolean {
  return code === "NOT_FOUND" || code === "BAD_REQUEST";
}

function timesOf({ startMs, endMs }: AlertWindow) {
  return { windowStart: new Date(startMs).toISOString(), windowEnd: new Date(endMs).toISOString() };
}

function olderErrors({ errors }: Alert): AlertError[] {
  const recent = ({ timestamp }: AlertError) => Date.parse(timestamp) > Date.now() - webhookErrorMs;
  return errors.filter((error) => error.type === "WEBHOOK_ERROR" && recent(error));
}

/** The change to `state` as it is told. */
export function eventOf(alert: Alert, finding: AlertFinding, state: "ALERT" | "OK"): Omit<AlertEvent, "eventId"> {
  const { name, displayName, message, threshold, thresholdType } = alert.definition;
  const alertName = name ?? displayName ?? `Alert ${alert.id}`;
  const readings = finding.readings.filter((one) => one.fires === (state === "ALERT"));
  return {
    ...{ alertId: alert.id, alertName, state, message: message ?? textOf(alert, finding, state, readings) },
    ...{ threshold, thresholdType, startTime: finding.windowStart, endTime: finding.windowEnd, readings },
  };
}

/** What was found; of an alert of states, which services or pipes and why. */
function textOf(
  { definition }: Alert,
  finding: AlertFinding,
  state: "ALERT" | "OK",
  readings: readonly AlertReading[],
) {
  const { source, metric, threshold, thresholdType, interval } = definition;
  if (state === "ALERT" && finding.message !== null) return finding.message;
  const result = state === "ALERT" ? "The threshold is reached" : "The threshold is not reached any more";
  const condition = `${metric === undefined ? "" : `${metric} `}${thresholdType} ${threshold}, ${interval}`;
  const told = source === "state" ? readings : finding.readings.slice(0, 1);
  const values = told.map(({ group, value, reason = value }) =>
    source === "state" ? `${group[0]}: ${reason}` : value,
  );
  const all = values.join("; ");
  return `${result} (${condition})${all === "" ? "" : `: ${all}`}${/[.?!]$/.test(all) ? "" : "."}`;
}
