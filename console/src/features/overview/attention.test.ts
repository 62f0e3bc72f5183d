import { expect, test } from "vitest";
import { attentionOf, type Facts } from "./attention.ts";

const nothing: Facts = {
  services: [],
  pipes: [],
  keys: undefined,
  system: undefined,
  now: Date.parse("2026-01-01T00:00:00Z"),
};
const service = (more: object) => ({ id: "s", name: "web", state: "running", ...more }) as Facts["services"][number];
const pipe = (more: object) =>
  ({ id: "p", serviceId: "s", name: "clicks", state: "Running", ...more }) as Facts["pipes"][number];

test("what is well needs nobody", () => {
  const lastBackup = { status: "done", verification: "passed" };
  expect(
    attentionOf({ ...nothing, services: [service({ lastBackup, diskGb: 10, diskUsedBytes: 5 })], pipes: [pipe({})] }),
  ).toEqual([]);
  expect(attentionOf({ ...nothing, services: [service({ state: "idle" }), service({ state: "stopped" })] })).toEqual(
    [],
  );
});

test("failures come first, each with its reason and its screen", () => {
  const facts = {
    ...nothing,
    services: [service({ state: "degraded", stateMessage: "The engine ended." })],
    pipes: [
      pipe({ state: "Failed", stateMessage: "No such topic." }),
      pipe({ id: "q", lag: { trend: "growing", seconds: 90 } }),
    ],
  };
  expect(attentionOf(facts).map(({ tone, sentence, link }) => [tone, sentence, link.params])).toEqual([
    ["bad", "No such topic.", { serviceId: "s", pipeId: "p" }],
    ["warn", "The engine ended.", { serviceId: "s" }],
    ["warn", "1 min 30 s behind its source, and the distance grows.", { serviceId: "s", pipeId: "q" }],
  ]);
});

test("a backup without proof, a full disk, an expiring key and a failing loop are told", () => {
  const gib = 2 ** 30;
  const facts = {
    ...nothing,
    services: [
      service({ lastBackup: { status: "done", verification: "failed" }, diskGb: 1, diskUsedBytes: 0.95 * gib }),
    ],
    keys: [{ id: "k", name: "ci", state: "enabled", expireAt: "2026-01-02T00:00:00Z" }] as unknown as NonNullable<
      Facts["keys"]
    >,
    system: {
      loops: [{ name: "pipes", consecutiveFailures: 3, lastError: "x" }],
      disk: { totalBytes: 100, freeBytes: 50 },
    } as unknown as NonNullable<Facts["system"]>,
  };
  expect(attentionOf(facts).map(({ id }) => id)).toEqual(["s-backup", "loop-pipes", "s-disk", "k"]);
});

test("an alert that cannot tell or see is told, with the newest error", () => {
  const error = (type: string) => ({ type, message: `${type} happened.`, timestamp: "2026-01-01T00:00:00.000Z" });
  const alerts = [
    { id: "a", state: "ALERT", executionErrors: [error("WEBHOOK_ERROR"), error("QUERY_ERROR")] },
    { id: "b", state: "INSUFFICIENT_DATA", executionErrors: [error("QUERY_ERROR")] },
  ] as unknown as Facts["alerts"];
  expect(attentionOf({ ...nothing, alerts }).map(({ sentence }) => sentence)).toEqual([
    "The alert fires.",
    "A notification was not delivered: WEBHOOK_ERROR happened.",
    "The alert cannot be evaluated: QUERY_ERROR happened.",
  ]);
});

test("an alert that fires and refused rows of a pipe that runs are told, with their share", () => {
  const alerts = [
    { id: "a", name: "Too many", state: "ALERT", executionErrors: [] },
    { id: "b", state: "OK", executionErrors: [] },
  ] as unknown as Facts["alerts"];
  const found = attentionOf({
    ...nothing,
    alerts,
    pipes: [pipe({ errors: 100, refusedRows: 100, rows: 200 }), pipe({ errors: 0 })],
  });
  expect(found.map(({ tone, sentence }) => [tone, sentence])).toEqual([
    ["bad", "The alert fires."],
    ["warn", "100 rows refused since it was created, 33 % of the rows that came."],
  ]);
});
