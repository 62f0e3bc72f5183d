import { expect, test } from "vitest";
import { chartDefinition } from "../../charts/definition.ts";
import type { Alert } from "./alert.ts";
import { bodyOf, changed, formOf, missingIn, newForm, ofStates, subjectOf, subjectOptions } from "./alert-form.ts";

const alert = {
  ...{ id: "i", version: 3, state: "OK", name: "Errors", note: "n", source: "saved_search", savedSearchId: "s" },
  ...{ groupBy: "Service", threshold: 10, thresholdType: "between", thresholdMax: 20, interval: "5m", enabled: false },
  ...{ scheduleOffsetMinutes: 2, channel: { type: "webhook", webhookId: "w" } },
} as unknown as Alert;
const search = { source: "saved_search", savedSearchId: "s" } as const;

test("an alert that was not changed is sent back as it is", () => {
  const body = bodyOf(formOf(alert), search, alert);
  expect(body).toEqual({ ...alert, message: null, numConsecutiveWindows: 1, noData: null });
});

test("what no longer applies is taken away", () => {
  const form = { ...formOf(alert), thresholdType: "above", watches: "tile:d/a/b", name: " " } as const;
  const subject = subjectOf(form);
  expect(subject).toEqual({ source: "tile", dashboardId: "d", tileId: "a/b" });
  const body = bodyOf(form, subject as NonNullable<typeof subject>, alert);
  expect(body).toMatchObject({ thresholdMax: null, name: null, note: "n", tileId: "a/b" });
  expect(body).not.toHaveProperty("savedSearchId");
  expect(body).not.toHaveProperty("groupBy");
});

test("a form without a subject or a webhook says so", () => {
  const form = newForm("n", undefined);
  expect(missingIn(form)).toContain("what the alert watches");
  expect(missingIn({ ...form, watches: "search:s" })).toContain("webhook");
  expect(missingIn({ ...form, watches: "search:s", webhookId: "w" })).toBeUndefined();
});

test("an alert of states is sent back as it is, and brings the condition that most want", () => {
  const { savedSearchId: _search, groupBy: _group, ...rest } = alert;
  const ofPipe = { ...rest, source: "state", metric: "pipe_lag_seconds", pipeId: "p", noData: "alert" } as Alert;
  expect(bodyOf(formOf(ofPipe), subjectOf(formOf(ofPipe)) as never, ofPipe)).toMatchObject(ofPipe);
  const form = { ...newForm("n", undefined), ...ofStates("disk_free_percent", "service:s") };
  expect(subjectOf(form)).toEqual({ source: "state", metric: "disk_free_percent", serviceId: "s" });
  expect(form).toMatchObject({ thresholdType: "below", threshold: "10" });
  const body = bodyOf(formOf(ofPipe), { source: "saved_search", savedSearchId: "s" }, ofPipe);
  for (const member of ["metric", "pipeId", "serviceId"]) expect(body).not.toHaveProperty(member);
});

test("text that is not a number is left for the server to refuse, and nothing typed is the default", () => {
  const form = { ...newForm("n", undefined), thresholdType: "between", threshold: "ten", thresholdMax: "x" } as const;
  expect(bodyOf({ ...form, windows: "3 x" }, search)).toMatchObject({
    ...{ threshold: "ten", thresholdMax: "x", numConsecutiveWindows: "3 x" },
  });
  expect(bodyOf({ ...form, windows: "" }, search)).toMatchObject({ numConsecutiveWindows: null });
});

test("a chart of counted rows gives its groups, one of values keeps them in its tile", () => {
  const counted = chartDefinition({ sourceId: "s", groupBy: "Service" });
  expect(newForm("n", counted)).toMatchObject({ watches: "chart", groupBy: "Service" });
  const values = chartDefinition({ sourceId: "s", groupBy: "Service", series: [{ aggFn: "max", field: "d" }] });
  expect(newForm("n", values)).toMatchObject({ watches: "chart", groupBy: "" });
});

test("a tile that cannot be watched is listed with the reason, and is not offered", () => {
  const tiles = ["line", "table"].map((displayType) => ({
    ...{ id: displayType, name: `a ${displayType}`, config: { displayType, select: [{ aggFn: "count" }] } },
  }));
  const known = { searches: [{ id: "s", name: "S" }], dashboards: [{ id: "d", name: "D", tiles }], webhooks: [] };
  const options = subjectOptions(known as never, undefined);
  expect(options.filter(({ value }) => !value.startsWith("state:"))).toEqual([
    { value: "search:s", label: "Saved search S" },
    { value: "tile:d/line", label: "Tile D / a line" },
    { value: "tile:d/table", label: "Tile D / a table: not for a tile of type table", disabled: true },
  ]);
});

test("a proposed name goes with what it was proposed for, and another one stays", () => {
  const form = { ...newForm("orders needs attention", undefined), ...ofStates("pipe_attention", "pipe:p") };
  expect(changed(form, { windows: "2" }, form.name).name).toBe(form.name);
  expect(changed(form, { limit: "" }, form.name).name).toBe("");
  expect(changed({ ...form, name: "Mine" }, ofStates("pipe_refused_rows"), form.name).name).toBe("Mine");
});
