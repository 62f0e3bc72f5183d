/** From the values of a window to the state of an alert, and to what is told of it. */
import type { AlertError, AlertReading } from "../api/alerts.ts";
import type { AlertWindow } from "../charts/alerts/alert-request.ts";
import { AppError } from "../lib/errors.ts";
import type { AlertEvent, AlertFinding } from "../store/alert-evaluations.ts";
import type { Alert } from "../store/alerts.ts";

/** What a window holds: a value per group and series. */
export type WindowValues = { readonly readings: readonly AlertReading[]; readonly isGrouped: boolean };

/** Readings that are kept of an evaluation, and told. */
const keptReadings = 20;
/** Failures of notifications are shown with the alert this long. */
const webhookErrorMs = 24 * 3_600_000;
const keptErrors = 10;

/** What the values of a window mean for the alert. */
export function findingOf(
  alert: Alert,
  window: AlertWindow,
  { readings: found, isGrouped }: WindowValues,
): AlertFinding {
  const readings = [...found].sort((a, b) => Number(b.fires) - Number(a.fires)).slice(0, keptReadings);
  const shared = { ...timesOf(window), readings, errors: olderErrors(alert) };
  if (found.length === 0 && !isGrouped) {
    const message = "There is no value in the window.";
    return { ...shared, state: "INSUFFICIENT_DATA", message, firingWindows: 0 };
  }
  const before = follows(alert, shared.windowStart) ? alert.firingWindows : 0;
  const firingWindows = found.some((one) => one.fires) ? before + 1 : 0;
  const isAlert = firingWindows >= (alert.definition.numConsecutiveWindows ?? 1);
  // An alert that is told stays one while its condition is fulfilled.
  const stays = firingWindows > 0 && alert.notifiedState === "ALERT";
  return { ...shared, state: isAlert || stays ? "ALERT" : "OK", message: null, firingWindows };
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
  const { name, displayName, message, threshold, thresholdType, interval } = alert.definition;
  const alertName = name ?? displayName ?? `Alert ${alert.id}`;
  const first = finding.readings[0];
  const value = first === undefined ? "" : `: ${first.value}`;
  const fallback = `${state === "ALERT" ? "The threshold is reached" : "The threshold is not reached any more"} (${thresholdType} ${threshold}, ${interval})${value}.`;
  return {
    ...{ alertId: alert.id, alertName, state, message: message ?? fallback, threshold, thresholdType },
    ...{ startTime: finding.windowStart, endTime: finding.windowEnd },
    readings: finding.readings.filter((one) => one.fires === (state === "ALERT")),
  };
}
