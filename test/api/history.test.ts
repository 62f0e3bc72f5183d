/** Metrics over time through the API: ranges, steps, refusals. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { type Api, startApi } from "./harness.ts";

const now = Date.parse("2026-01-08T12:00:00Z");

let api: Api;
let service: string;
let pipe: string;
let ids: { service: string; pipe: string };
beforeAll(async () => {
  api = await startApi({ now: () => now });
  const created = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  const serviceId = created.body.result.service.id;
  const definition = { sourceKind: "objectStorage", source: {}, destination: {}, fieldMappings: [] };
  const rest = { scaling: {}, settings: {}, secrets: {}, roles: undefined };
  const pipeId = await api.pipes.create({ serviceId, name: "p", ...definition, ...rest }, limits.pipes);
  ids = { service: serviceId, pipe: pipeId };
  service = `/v1/organizations/{o}/services/${serviceId}`;
  pipe = `${service}/pipes/${pipeId}/metrics`;
});
afterAll(() => api[Symbol.asyncDispose]());

test("the last hour by default, in the step of the samples", async () => {
  api.pipeHistory.add(ids.pipe, now - 10_000, { rowsPerSecond: 5, workers: 1 });
  const { result } = (await api.call("GET", pipe)).body;
  expect(result).toMatchObject({ from: "2026-01-08T11:00:00.000Z", to: "2026-01-08T12:00:00.000Z", stepSeconds: 5 });
  expect(result.series.rowsPerSecond).toHaveLength(720);
  expect(result.series.rowsPerSecond.slice(-3)).toEqual([null, 5, null]);
  expect(result.series.lagRows.every((value: unknown) => value === null)).toBe(true);
});

test("a range and a step; the range is widened to whole steps", async () => {
  for (let i = 0; i < 120; i += 1) api.serviceHistory.add(ids.service, now - i * 60_000, { running: 1, diskBytes: i });
  const path = `${service}/metrics?from=2026-01-08T11:02:00Z&to=2026-01-08T11:58:00Z&step=1800`;
  const { result } = (await api.call("GET", path)).body;
  expect(result).toMatchObject({ from: "2026-01-08T11:00:00.000Z", to: "2026-01-08T12:00:00.000Z", stepSeconds: 1800 });
  expect(result.series).toMatchObject({ running: [1, 1], diskBytes: [45.5, 15.5], queriesPerSecond: [null, null] });
});

test.each([
  ["to=0020-02-29T00:00:00Z", "to", "must be later than 1970"],
  ["to=1970-01-01T00:30:00Z", "to", "must be later than 1970"],
  ["from=1969-12-31T23:59:59Z", "from", "must be later than 1970"],
  ["from=9999-01-01T00:00:00Z&to=9999-12-31T23:59:59Z&step=3600", "to", "must be earlier than 9999"],
])("a time that no history has is refused by name: %s", async (query, path, message) => {
  for (const metrics of [pipe, `${service}/metrics`]) {
    const { status, body } = await api.call("GET", `${metrics}?${query}`);
    expect([status, body.issues]).toEqual([400, [{ path, message }]]);
  }
});

test("a day, a week: the step grows so that a response stays small", async () => {
  const points = async (from: string) => {
    const { stepSeconds, series } = (await api.call("GET", `${pipe}?from=${from}`)).body.result;
    return [stepSeconds, series.workers.length];
  };
  expect(await points("2026-01-07T12:00:00Z")).toEqual([120, 720]);
  expect(await points("2026-01-01T12:00:00Z")).toEqual([900, 672]);
});

test("impossible ranges are refused with their member", async () => {
  const path = async (query: string) => {
    const { status, body } = await api.call("GET", `${pipe}?${query}`);
    return [status, body.issues?.[0]?.path];
  };
  expect(await path("from=2026-01-09T00:00:00Z")).toEqual([400, "from"]);
  expect(await path("step=90")).toEqual([400, "step"]);
  expect(await path("step=7")).toEqual([400, "step"]);
  expect(await path("from=2020-01-01T00:00:00Z&step=60")).toEqual([400, "step"]);
  expect(await path("from=yesterday")).toEqual([400, "from"]);
});

test("an unknown pipe has no metrics: 404", async () => {
  const unknown = `${service}/pipes/00000000-0000-4000-8000-000000000000/metrics`;
  expect((await api.call("GET", unknown)).status).toBe(404);
});
