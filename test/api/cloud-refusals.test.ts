/** Every route of the ClickHouse Cloud API refuses strangers, and every part that this server does not have says so. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unsupportedParts } from "../../src/cloud-api/dialect.ts";
import { cloudNames } from "../../src/cloud-api/names.ts";
import { cloudRoutes } from "../../src/cloud-api/routes.ts";
import { type Caller, type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";

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

test.each(named(cloudRoutes.filter(({ operation }) => operation.access !== "read")))(
  "%s needs a role that may change",
  async (_, route) => {
    expect((await send(route, own.keys.read_only)).status).toBe(403);
  },
);

test("objects of another organization are not found below the own one", async () => {
  const mixed = { ...other.ids, organizationId: own.ids.organizationId as string };
  const owned = cloudRoutes.filter(({ method, path }) => method === "GET" && path.includes("{serviceId}"));
  expect(owned.length).toBeGreaterThan(5);
  for (const { path } of owned) {
    const { status, text } = await api.call("GET", filled(path, mixed), own.keys.admin);
    expect([path, status]).toEqual([path, 404]);
    expect(text).not.toContain("Events");
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
