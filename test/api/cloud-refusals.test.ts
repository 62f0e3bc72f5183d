/** Every route of the ClickHouse Cloud API refuses strangers, and every part that this server does not have says so. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestExamples } from "../../src/api/examples.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { unsupportedParts } from "../../src/cloud-api/dialect.ts";
import { cloudNames } from "../../src/cloud-api/names.ts";
import { cloudRoutes } from "../../src/cloud-api/routes.ts";
import { type Caller, type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";
import { storedRows } from "./stored.ts";

let api: Api;
let own: FilledOrganization;
let other: FilledOrganization;
beforeAll(async () => {
  api = await startApi();
  [own, other] = [await fillOrganization(api, "own"), await fillOrganization(api, "other")];
});
afterAll(() => api[Symbol.asyncDispose]());

const filled = (path: string, ids: Readonly<Record<string, string>>) =>
  `/cloud${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] as string)}`;

type Route = (typeof cloudRoutes)[number];
const send = (route: Route, caller: Caller) =>
  api.call(route.method, filled(route.path, own.ids), { ...caller, ...(route.method === "GET" ? {} : { body: {} }) });
/** The example of the operation that the route calls, in our names. */
const bodyOf = ({ id, operation }: Route) => {
  const ours = Object.entries({ ...managementOperations, ...observabilityOperations });
  const name = ours.find(([one, { summary }]) => one === id || summary === operation.summary)?.[0] ?? id;
  return requestExamples[name]?.[0]?.body ?? {};
};
const named = (routes: readonly Route[]) => routes.map((route) => [route.id, route] as const);

test.each(named(cloudRoutes))("%s needs a key", async (_, route) => {
  expect((await send(route, { auth: null })).status).toBe(401);
  expect((await send(route, own.token)).status).toBe(401);
});

test.each(named(cloudRoutes.filter(({ path }) => path.includes("{organizationId}"))))(
  "%s does not find an organization by the key of another",
  async (_, route) => {
    expect((await send(route, other.keys.admin)).status).toBe(404);
  },
);

const weaker = { read: [], developer: ["read_only"], admin: ["read_only", "developer"] } as const;
const restricted = cloudRoutes.flatMap((route) =>
  weaker[route.operation.access].map((role) => [route.id, role, route] as const),
);
test.each(restricted)("%s is refused to the role %s", async (_, role, route) => {
  expect((await send(route, own.keys[role])).status).toBe(403);
});

const idsIn = ({ path }: Route) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
/** Names within a service. */
const freeNames = ["queryId", "database", "table"];
const below = cloudRoutes.filter((route) => idsIn(route).some((name) => name !== "organizationId"));
test.each(named(below))("%s finds no object of another organization below the own one", async (_, route) => {
  const names = idsIn(route).filter((name) => name !== "organizationId" && !freeNames.includes(name));
  // The caller's own objects lead to the foreign one.
  for (let first = 0; first < names.length; first += 1) {
    const foreign = Object.fromEntries(names.slice(first).map((name) => [name, other.ids[name] as string]));
    const before = await storedRows(api);
    const ids = { ...own.ids, ...foreign };
    for (const body of route.method === "GET" ? [undefined] : [{}, bodyOf(route)]) {
      const { status, text } = await api.call(route.method, filled(route.path, ids), { ...own.keys.admin, body });
      // A body that is wrong by itself is refused first.
      expect([400, 404], text).toContain(status);
      if (body === undefined || route.method === "DELETE") expect(status, text).toBe(404);
      expect(text).not.toMatch(/of other|Events/);
    }
    expect(await storedRows(api)).toBe(before);
  }
});

describe.each(unsupportedParts.map((part) => [part.path, part] as const))("%s", (_, { path, read }) => {
  const refusal = {
    status: 400,
    code: "NOT_SUPPORTED",
    error: expect.stringMatching(/^BAD_REQUEST: .* is not supported by/),
  };
  const one = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

  test("writes are refused in one sentence, after the key", async () => {
    for (const method of ["POST", "PUT", "PATCH"]) {
      for (const url of [path, `${path}/${one}`, `${path}/${one}/state`]) {
        const { body } = await api.call(method, filled(url, own.ids), { ...own.keys.admin, body: { any: 1 } });
        expect(body).toMatchObject(refusal);
        expect((await api.call(method, filled(url, own.ids), { auth: null, body: {} })).status).toBe(401);
      }
    }
  });

  test("reading it says what there is", async () => {
    const whole = await api.call("GET", filled(path, own.ids), own.keys.read_only);
    const below = await api.call("GET", filled(`${path}/${one}`, own.ids), own.keys.read_only);
    if (read === "empty") expect(whole.body).toMatchObject({ status: 200, result: [] });
    else if (read === "none") expect(whole.body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    else expect(whole.body).toMatchObject(refusal);
    expect(below.status).toBe(read === undefined ? 400 : 404);
  });
});

test("an unknown path is not found, and a known one refuses other methods", async () => {
  const root = `/cloud/v1/organizations/${own.ids.organizationId}`;
  expect((await api.call("GET", `${root}/nothing`, own.keys.admin)).status).toBe(404);
  expect((await api.call("GET", `${root}/services/${own.ids.serviceId}/pipes`, own.keys.admin)).status).toBe(404);
  const { status, headers } = await api.call("PUT", `${root}/services`, { ...own.keys.admin, body: {} });
  expect([status, headers.allow]).toEqual([405, "GET, POST"]);
});

test("the document is served with the names of the dialect alone", async () => {
  const { body, text } = await api.call("GET", "/cloud/openapi.json", { auth: null });
  expect(body.servers).toEqual([{ url: "/cloud" }]);
  expect(Object.keys(body.paths)).toContain("/v1/organizations/{organizationId}/services/{serviceId}/clickpipes");
  const own = Object.keys(cloudNames).flatMap((name) => [...text.matchAll(new RegExp(`.{80}\\b${name}\\b`, "g"))]);
  expect(own.map(([place]) => place)).toEqual([]);
  expect((await api.call("GET", "/cloud/v1", { auth: null })).body).toEqual(body);
  const create = body.components.schemas.CreatePipe.properties;
  expect(create.source.properties.kafka).toBeDefined();
  expect(JSON.stringify(body)).toContain("exactlyOnce");
});
