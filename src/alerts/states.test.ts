/** What each metric of states reads, and what is told of it. */
import { expect, test } from "vitest";
import type { AlertDefinition, StateMetric } from "../api/alerts.ts";
import { AppError } from "../lib/errors.ts";
import type { Alert } from "../store/saved/alerts.ts";
import { eventOf, findingOf } from "./findings.ts";
import { type States, stateValues } from "./states.ts";

const nowMs = Date.UTC(2024, 4, 1, 10);
const hoursAgo = (hours: number) => nowMs - hours * 3_600_000;
const service = { id: "s", name: "web", state: "running", backedUpAt: hoursAgo(30), serverDiskFree: 0.5 };
const other = { id: "t", name: "other", state: "idle", backedUpAt: undefined, serverDiskFree: undefined };
const pipe = {
  id: "p",
  serviceId: "s",
  name: "clicks",
  state: "Running",
  errors: 7,
  rows: 100,
  lag: { seconds: 12.5 },
};
const broken = { id: "q", serviceId: "t", name: "orders", state: "Failed", stateMessage: "No such topic." };
const states: States = { services: [service, other], pipes: [pipe, broken] };

const alertOf = (metric: StateMetric, more: object = {}, totals: Alert["totals"] = null): Alert => ({
  ...{ id: "a", organizationId: "o", version: 1, state: "INSUFFICIENT_DATA", stateMessage: null, totals },
  definition: {
    source: "state",
    metric,
    threshold: 1,
    thresholdType: "above",
    interval: "1m",
    ...more,
  } as AlertDefinition,
  ...{ notifiedState: "OK", firingWindows: 0, evaluatedUntil: null, evaluatedVersion: null, errors: [] },
  ...{ stateChangedAt: "", createdAt: "", updatedAt: "" },
});
const valuesOf = (alert: Alert, now = states) =>
  stateValues(alert, now, nowMs).readings.map(({ group, value }) => [group[0], value]);

test("each metric has a reading for each pipe or service of which it is known", () => {
  expect(valuesOf(alertOf("pipe_attention"))).toEqual([
    ["clicks", 0],
    ["orders", 1],
  ]);
  expect(valuesOf(alertOf("pipe_lag_seconds"))).toEqual([["clicks", 12.5]]);
  expect(valuesOf(alertOf("service_attention"))).toEqual([
    ["web", 0],
    ["other", 0],
  ]);
  expect(valuesOf(alertOf("backup_age_hours"))).toEqual([["web", 30]]);
  expect(valuesOf(alertOf("disk_free_percent"))).toEqual([["web", 50]]);
  const full = { ...service, diskGb: 10, diskUsedBytes: 9.9 * 2 ** 30 };
  expect(valuesOf(alertOf("disk_free_percent"), { ...states, services: [full] })).toEqual([["web", 1]]);
  expect(valuesOf(alertOf("service_attention"), { ...states, services: [full] })).toEqual([["web", 1]]);
});

test("refused rows are those since the evaluation before, of a new pipe from its begin", () => {
  const first = stateValues(alertOf("pipe_refused_rows"), states, nowMs);
  expect(first).toMatchObject({ readings: [{ value: 0 }, { value: 0 }], totals: { p: 7, q: 0 } });
  const later = {
    ...states,
    pipes: [
      { ...pipe, errors: 10 },
      { ...pipe, id: "new", name: "new", errors: 2 },
    ],
  };
  expect(valuesOf(alertOf("pipe_refused_rows", {}, { p: 7 }), later)).toEqual([
    ["clicks", 3],
    ["new", 2],
  ]);
  // Rows that were refused once are not a reason to look for ever.
  expect(valuesOf(alertOf("pipe_attention", { pipeId: "p" }))).toEqual([["clicks", 0]]);
});

test("an alert is of one service or pipe, and says when that is gone", () => {
  expect(valuesOf(alertOf("pipe_attention", { serviceId: "t" }))).toEqual([["orders", 1]]);
  expect(valuesOf(alertOf("backup_age_hours", { serviceId: "s" }))).toEqual([["web", 30]]);
  for (const gone of [{ serviceId: "x" }, { pipeId: "x" }]) {
    expect(() => stateValues(alertOf("pipe_attention", gone), states, nowMs)).toThrow(AppError);
  }
});

test("what is told names the pipe and why", () => {
  const alert = alertOf("pipe_attention");
  const window = { startMs: nowMs - 60_000, endMs: nowMs };
  const finding = findingOf(alert, window, stateValues(alert, states, nowMs));
  expect(eventOf(alert, finding, finding.state as "ALERT").message).toBe(
    "The threshold is reached (pipe_attention above 1, 1m): orders: No such topic.",
  );
  expect(finding.state).toBe("ALERT");
});
