/** The size of the workers of a service's Postgres pipes, in both APIs. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloudCaller } from "./cloud.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let serviceId: string;
let path: string;
const size = { replicaCpuMillicores: 2_000, replicaMemoryGb: 8 };

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  serviceId = body.result.service.id;
  path = `/v1/organizations/{o}/services/${serviceId}/cdcScaling`;
});
afterAll(() => api[Symbol.asyncDispose]());

test("it is empty until it is set, and the same in both APIs", async () => {
  const call = cloudCaller(api);
  const theirs = `/services/${serviceId}/clickpipesCdcScaling`;
  expect((await api.call("GET", path)).body.result).toEqual({});
  expect((await call("GET", theirs)).body.result).toEqual({});
  expect((await call("PATCH", theirs, size)).body.result).toEqual(size);
  expect((await api.call("GET", path)).body.result).toEqual(size);
  const greater = { replicaCpuMillicores: 3_000, replicaMemoryGb: 12 };
  expect((await api.call("PATCH", path, { body: greater })).body.result).toEqual(greater);
  expect((await call("GET", theirs)).body.result).toEqual(greater);
});

test.each([
  ["replicaMemoryGb", { replicaMemoryGb: 12 }],
  ["replicaMemoryGb", { replicaMemoryGb: 6 }],
  ["replicaCpuMillicores", { replicaCpuMillicores: 1_500 }],
  ["replicaCpuMillicores", { replicaCpuMillicores: 33_000 }],
  ["replicaCpuMillicores", { replicaCpuMillicores: undefined }],
])("a wrong %s is refused by name", async (name, change) => {
  const { status, body } = await api.call("PATCH", path, { body: { ...size, ...change } });
  expect([status, body.issues.map((issue: { path: string }) => issue.path)]).toEqual([
    400,
    expect.arrayContaining([name]),
  ]);
});
