/** Query endpoints of services without an engine: who may run statements; that one gets there shows in its absence. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cloudCaller } from "./cloud.ts";
import { type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let own: FilledOrganization;
let other: FilledOrganization;
let service: string;
let reader: string;
const page = "https://app.example.com";
const statement = { runId: "one", sql: "SELECT 1" };

beforeAll(async () => {
  api = await startApi();
  own = await fillOrganization(api, "own");
  other = await fillOrganization(api, "other");
  service = `/v1/organizations/${own.ids.organizationId}/services/${own.ids.serviceId}`;
  reader = own.ids.keyId as string;
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => api.queryEndpoints.remove(own.ids.serviceId as string));

const wanted = (change: object = {}) => ({
  ...{ roles: ["sql_console_read_only"], openApiKeys: [reader], allowedOrigins: `${page}, http://localhost:3000` },
  ...change,
});
const configure = (body: object) => api.call("POST", `${service}/serviceQueryEndpoint`, { ...own.keys.admin, body });
const run = (path: string, body: object = statement, headers: Record<string, string> = {}, who = own.keys.read_only) =>
  api.call("POST", path, { ...who, body, headers });

test("a query endpoint is configured, replaced under its id, read and removed", async () => {
  const path = `${service}/serviceQueryEndpoint`;
  expect((await api.call("GET", path, own.keys.read_only)).status).toBe(404);
  const { result } = (await configure(wanted())).body;
  expect(result).toEqual({ id: expect.any(String), ...wanted() });
  const { body } = await configure({ roles: ["sql_console_admin"], openApiKeys: [] });
  expect(body.result).toEqual({ id: result.id, roles: ["sql_console_admin"], openApiKeys: [], allowedOrigins: "" });
  expect((await api.call("GET", path, own.keys.read_only)).body.result).toEqual(body.result);
  expect((await api.call("DELETE", path, own.keys.admin)).status).toBe(200);
  expect((await api.call("GET", path, own.keys.read_only)).status).toBe(404);
  expect((await api.call("DELETE", path, own.keys.admin)).status).toBe(404);
});

test("the dialect has the same under its paths", async () => {
  const call = cloudCaller(api);
  const path = `/services/${own.ids.serviceId}/serviceQueryEndpoint`;
  const organization = { auth: own.keys.admin.auth };
  const at = (method: string, body?: unknown) =>
    api.call(method, `/cloud/v1/organizations/${own.ids.organizationId}${path}`, {
      ...organization,
      ...(body === undefined ? {} : { body }),
    });
  expect((await at("POST", wanted())).body.result).toMatchObject(wanted());
  expect((await at("GET")).body.result).toMatchObject(wanted());
  expect((await at("DELETE")).status).toBe(200);
  expect((await call("GET", `/services/${randomUUID()}/serviceQueryEndpoint`)).status).toBe(404);
});

test.each([
  ["openApiKeys.0", { openApiKeys: [randomUUID()] }],
  ["roles", { roles: [] }],
  ["roles.0", { roles: ["owner"] }],
  ["allowedOrigins", { allowedOrigins: "https://app.example.com/path" }],
  ["allowedOrigins", { allowedOrigins: "app.example.com" }],
])("a wrong %s is refused by name", async (path, change) => {
  const { status, body } = await configure(wanted(change));
  expect([status, body.issues.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
});

test("a key of another organization cannot be named", async () => {
  const { status, body } = await configure(wanted({ openApiKeys: [reader, other.ids.keyId] }));
  expect([status, body.issues[0].path]).toEqual([400, "openApiKeys.1"]);
});

describe.each([
  ["the management API", () => `${service}/run`],
  ["the dialect", () => `/cloud/service/${own.ids.serviceId}/run`],
])("a statement in %s", (_, path) => {
  test("reaches the service with a named key alone", async () => {
    expect((await run(path())).body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    await configure(wanted());
    expect((await run(`${path()}?format=JSON`)).body).toMatchObject({
      status: 503,
      error: expect.stringContaining("no engine"),
    });
    expect((await run(path(), statement, {}, own.keys.admin)).body).toMatchObject({ status: 403 });
    expect((await run(path(), statement, {}, other.keys.admin)).status).toBe(404);
    expect((await api.call("POST", path(), { auth: null, body: statement })).status).toBe(401);
  });

  test("comes from pages of allowed origins alone", async () => {
    await configure(wanted());
    expect((await run(path(), statement, { origin: page })).status).toBe(503);
    expect((await run(path(), statement, { origin: "https://evil.example.com" })).status).toBe(403);
    await configure(wanted({ allowedOrigins: "" }));
    expect((await run(path(), statement, { origin: page })).status).toBe(403);
    await configure(wanted({ allowedOrigins: "*" }));
    expect((await run(path(), statement, { origin: page })).status).toBe(503);
  });

  test("may be announced by a browser, with a key and never with a cookie or the console's header", async () => {
    const { status, headers } = await api.call("OPTIONS", path(), { auth: null, headers: { origin: page } });
    expect([status, headers["access-control-allow-origin"]]).toEqual([204, page]);
    expect(headers["access-control-allow-headers"]).toBe("authorization, content-type");
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
    const refused = await api.call("PUT", path(), { auth: null, body: {} });
    expect([refused.status, refused.headers.allow]).toEqual([405, "POST, OPTIONS"]);
  });

  test("needs sql, and nothing else is known", async () => {
    await configure(wanted());
    const { status, body } = await run(path(), { query: "SELECT 1" });
    expect(status).toBe(400);
    expect(body.error).toMatch(/sql/);
    expect((await run(`${path()}?format=../x`)).status).toBe(400);
  });
});

test("no other path may be announced", async () => {
  const { status, headers } = await api.call("OPTIONS", `${service}/query`, { auth: null, headers: { origin: page } });
  expect([status, headers["access-control-allow-origin"]]).toEqual([405, undefined]);
});
