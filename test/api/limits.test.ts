/** Limits of an organization: an error names count, limit and setting, also for concurrent requests. */
import { afterEach, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import type { OrganizationLimits } from "../../src/store/database/limits.ts";
import { ChartSourceStore } from "../../src/store/saved/chart-sources.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
afterEach(() => api[Symbol.asyncDispose]());

const services = "/v1/organizations/{o}/services";
const start = async (changed: Partial<OrganizationLimits>) => {
  api = await startApi({ limits: { ...limits, ...changed } });
};
const limit = (most: number) => ({ most, setting: "--the-setting" });
const create = (more: object = {}) =>
  api.call("POST", services, { body: { name: "s", maxReplicaMemoryGb: 4, ...more } });

/** Sends the requests at once; returns how many succeeded, and the errors of the others. */
async function together(requests: Promise<{ status: number; body: { code?: string; error?: string } }>[]) {
  const answers = await Promise.all(requests);
  const refused = answers.filter(({ status }) => status >= 400);
  for (const { status, body } of refused) {
    expect({ status, code: body.code }).toEqual({ status: 409, code: "LIMIT_REACHED" });
    expect(body.error).toContain("--the-setting");
  }
  return { passed: answers.length - refused.length, told: refused[0]?.body.error };
}

test("services; one that is being deleted leaves room", async () => {
  await start({ services: limit(3) });
  const { passed, told } = await together(Array.from({ length: 8 }, () => create()));
  expect(passed).toBe(3);
  expect(told).toContain("3 now, 4 wanted, 3 allowed");
  const [first] = await api.services.listIn(api.organizationId);
  await api.services.setState(first?.id ?? "", "stopped", null);
  expect((await api.call("DELETE", `${services}/${first?.id}`)).status).toBe(200);
  expect((await create()).status).toBe(200);
});

test("memory, at creation and by scaling; less is always welcome", async () => {
  await start({ memoryGb: limit(16) });
  expect((await together(Array.from({ length: 6 }, () => create()))).passed).toBe(4);
  const [first, second] = await api.services.listIn(api.organizationId);
  const scale = (id: string | undefined, maxReplicaMemoryGb: number) =>
    api.call("PATCH", `${services}/${id}/replicaScaling`, { body: { minReplicaMemoryGb: 1, maxReplicaMemoryGb } });
  expect((await together([scale(first?.id, 8)])).told).toContain("16 now, 20 wanted, 16 allowed");
  expect((await api.services.find(first?.id ?? ""))?.maxReplicaMemoryGb).toBe(4);
  expect((await scale(second?.id, 1)).status).toBe(200);
  expect((await scale(first?.id, 8)).status).toBe(409);
  // The operator may have lowered the limit below the current sum.
  if (first !== undefined) await api.services.scale(first, { maxReplicaMemoryGb: 2 }, limit(5));
  expect((await api.services.find(first?.id ?? ""))?.maxReplicaMemoryGb).toBe(2);
});

test("users of a service; a name that exists is a conflict as before", async () => {
  await start({ users: limit(3) });
  const id = (await create()).body.result.service.id;
  const add = (name: string) => api.call("POST", `${services}/${id}/users`, { body: { name } });
  expect((await together(["a", "b", "c", "d"].map(add))).passed).toBe(2);
  expect((await add("a")).body.code).toBe("CONFLICT");
});

test("keys and access tokens, each by themselves", async () => {
  await start({ keys: limit(3) });
  const key = () => api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "k", roles: ["admin"] } });
  const token = () => api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  // One key was created at the start.
  expect((await together([key(), key(), key(), key()])).passed).toBe(2);
  expect((await together([token(), token(), token(), token()])).passed).toBe(3);
});

test("pipes of all services of the organization, and replicas of a pipe", async () => {
  await start({ pipes: limit(3), replicas: limit(2) });
  const ids = [(await create()).body.result.service.id, (await create()).body.result.service.id];
  const pipe = (serviceId: string) =>
    api.pipes.create(
      {
        ...{ serviceId, name: "p", sourceKind: "objectStorage", roles: undefined, fieldMappings: [], scaling: {} },
        ...{ source: { objectStorage: {} }, secrets: {}, destination: { table: "t" }, settings: {} },
      },
      limit(3),
    );
  const outcomes = await Promise.allSettled([...ids, ...ids].map(pipe));
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(3);
  const refused = outcomes.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  expect(refused.reason).toMatchObject({ code: "LIMIT_REACHED" });
  const [made] = outcomes as PromiseFulfilledResult<string>[];
  const scaling = `${services}/${ids[0]}/pipes/${made?.value}/scaling`;
  expect((await together([api.call("PATCH", scaling, { body: { replicas: 3 } })])).told).toContain("2 allowed");
  expect((await api.call("PATCH", scaling, { body: { replicas: 2 } })).status).toBe(200);
});

test("chart sources", async () => {
  await start({});
  const id = (await create()).body.result.service.id;
  const sources = new ChartSourceStore(api.db);
  const content = { serviceId: id, name: "n", kind: "table", definition: {} };
  const outcomes = await Promise.allSettled(
    Array.from({ length: 4 }, () => sources.create(api.organizationId, content, limit(2))),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(2);
});
