/** What the values of a window mean: states, windows in a row, gaps, failures. */
import { expect, test } from "vitest";
import type { AlertDefinition } from "../api/alerts.ts";
import { AppError } from "../lib/errors.ts";
import type { Alert } from "../store/saved/alerts.ts";
import { eventOf, failedFindingOf, findingOf } from "./findings.ts";

const startMs = Date.UTC(2024, 4, 1, 10);
const windowAt = (index: number) => ({ startMs: startMs + index * 60_000, endMs: startMs + (index + 1) * 60_000 });
const created: Alert = {
  ...{ id: "a", organizationId: "o", version: 1, state: "INSUFFICIENT_DATA", stateMessage: null },
  definition: { name: "Errors", threshold: 5, thresholdType: "above", interval: "1m" } as AlertDefinition,
  ...{ notifiedState: "OK", firingWindows: 0, evaluatedUntil: null, evaluatedVersion: null, errors: [], totals: null },
  ...{ stateChangedAt: "", createdAt: "", updatedAt: "" },
};
const value = (fires: boolean, group: unknown[] = []) => ({ group, series: 0, value: fires ? 9 : 1, fires });
const values = (...fires: boolean[]) => ({ readings: fires.map((one) => value(one)), isGrouped: false });

/** The alert after the window, as the store writes it. */
function after(alert: Alert, index: number, fires: boolean): Alert {
  const { state, firingWindows, windowEnd } = findingOf(alert, windowAt(index), values(fires));
  const notifiedState = state === "INSUFFICIENT_DATA" ? alert.notifiedState : state;
  return { ...alert, state, notifiedState, firingWindows, evaluatedUntil: windowEnd, evaluatedVersion: alert.version };
}

const inARow = (most: number): Alert => ({
  ...created,
  definition: { ...created.definition, numConsecutiveWindows: most },
});

test("one value that fulfils the condition makes an alert", () => {
  expect(findingOf(created, windowAt(0), values(false, true, false)).state).toBe("ALERT");
  expect(findingOf(created, windowAt(0), values(false, false)).state).toBe("OK");
});

test("several windows in a row are needed, and the last one ends it", () => {
  let alert = inARow(3);
  const states = [true, true, true, true, false, true].map((fires, index) => {
    alert = after(alert, index, fires);
    return alert.state;
  });
  expect(states).toEqual(["OK", "OK", "ALERT", "ALERT", "OK", "OK"]);
});

test("windows with a gap between them, and those of another definition, are not in a row", () => {
  const once = after(inARow(2), 0, true);
  expect(after(once, 1, true).state).toBe("ALERT");
  expect(after(once, 2, true).state).toBe("OK");
  expect(after({ ...once, version: 2 }, 0, true)).toMatchObject({ state: "OK", firingWindows: 1 });
});

test("an alert that was told stays one after a gap, while its condition holds", () => {
  const told = after(after(inARow(2), 0, true), 1, true);
  expect(after(told, 7, true).state).toBe("ALERT");
  expect(after(told, 7, false).state).toBe("OK");
});

test("no value is not a state, but no group is none that fires", () => {
  expect(findingOf(created, windowAt(0), { readings: [], isGrouped: false }).state).toBe("INSUFFICIENT_DATA");
  expect(findingOf(created, windowAt(0), { readings: [], isGrouped: true }).state).toBe("OK");
});

test("a window without a value is an alert, well or nothing, as noData says", () => {
  const empty = (noData: "keep" | "alert" | "ok", isGrouped: boolean) => {
    const alert = { ...created, definition: { ...created.definition, noData } };
    const finding = findingOf(alert, windowAt(0), { readings: [], isGrouped });
    return [finding.state, eventOf(alert, finding, "ALERT").message];
  };
  const message = "There is no value in the window.";
  expect([empty("alert", false), empty("alert", true)]).toEqual(Array(2).fill(["ALERT", message]));
  expect([empty("ok", false)[0], empty("ok", true)[0]]).toEqual(["OK", "OK"]);
  expect([empty("keep", false)[0], empty("keep", true)[0]]).toEqual(["INSUFFICIENT_DATA", "OK"]);
});

test("of many groups those that fire are kept", () => {
  const readings = Array.from({ length: 50 }, (_, i) => value(i % 10 === 0, [i]));
  const finding = findingOf(created, windowAt(0), { readings, isGrouped: true });
  expect(finding.readings.map(({ fires }) => fires)).toEqual([...Array(5).fill(true), ...Array(15).fill(false)]);
  expect(eventOf(created, finding, "ALERT").readings).toHaveLength(5);
});

test("a failure has its kind, and nothing of an unexpected error", () => {
  const kind = (error: unknown) => failedFindingOf(created, windowAt(0), error).errors.map(({ type }) => type);
  expect(kind(new AppError("UNKNOWN_COLUMN", "no such column"))).toEqual(["QUERY_ERROR"]);
  expect(kind(new AppError("NOT_FOUND", "The tile is gone."))).toEqual(["INVALID_ALERT"]);
  const unexpected = failedFindingOf(created, windowAt(0), new Error("at /secret/path"));
  expect(unexpected).toMatchObject({ state: "INSUFFICIENT_DATA", message: "The evaluation failed." });
  expect(JSON.stringify(unexpected)).not.toContain("secret");
});

test("what is told names the alert, the window and its own text", () => {
  const finding = findingOf(created, windowAt(0), values(true));
  expect(eventOf(created, finding, "ALERT")).toMatchObject({
    ...{ alertName: "Errors", message: "The threshold is reached (above 5, 1m): 9.", state: "ALERT" },
    ...{ startTime: "2024-05-01T10:00:00.000Z", endTime: "2024-05-01T10:01:00.000Z" },
  });
  const definition = { ...created.definition, message: "Look" };
  expect(eventOf({ ...created, definition }, finding, "OK").message).toBe("Look");
});
