/** Guarantees of every operation of the management API: authentication, roles, isolation, limits, error shapes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { managementOperations } from "../../src/api/operations.ts";
import { type Api, basic, startApi } from "./harness.ts";

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const services = "/v1/organizations/{o}/services";

describe("management API", () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api[Symbol.asyncDispose]());

  test("every operation refuses a caller without, with wrong, and with malformed credentials", async () => {
    for (const operation of Object.values(managementOperations)) {
      const path = operation.path
        .replace("{organizationId}", "{o}")
        .replaceAll(/\{(\w+Id|userName)\}/g, () => randomUUID());
      for (const auth of [
        null,
        basic(api.keyId, "wrong"),
        basic("nobody", api.keySecret),
        "Basic !!",
        "Bearer x",
        "Basic",
      ]) {
        const answer = await api.call(operation.method, path, { auth });
        expect(answer.status, `${operation.method} ${path}`).toBe(401);
        expect(answer.headers["www-authenticate"]).toContain("Basic");
        expect(answer.body).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
        expect(answer.body.error).toMatch(/^UNAUTHORIZED: /);
        expect(answer.body.requestId).toMatch(uuidV4);
      }
    }
  });

  test("another organization's id is not found, whatever the operation", async () => {
    const other = await api.organizations.create("Other");
    const otherKey = await api.credentials.createKey({
      organizationId: other.id,
      name: "k",
      role: "admin",
      state: "enabled",
      expireAt: null,
    });
    const auth = basic(otherKey.key.keyId, otherKey.secret);
    const created = await api.call("POST", services, { body: { name: "mine" } });
    const id = created.body.result.service.id;
    for (const path of [`${services}/${id}`, `${services}/${id}/backups`, services]) {
      expect((await api.call("GET", path, { auth })).status).toBe(404);
    }
    // The path of the other organization does not reach it either.
    expect((await api.call("GET", `/v1/organizations/${other.id}/services/${id}`, { auth })).status).toBe(404);
    expect((await api.call("GET", `/v1/organizations/${other.id}/services`, { auth })).body.result).toEqual([]);
  });

  test("roles: a read-only key reads, a developer does not administer", async () => {
    const make = async (role: string) => {
      const { body } = await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: role, roles: [role] } });
      return basic(body.result.keyId, body.result.keySecret);
    };
    const [readOnly, developer] = [await make("read_only"), await make("developer")];
    expect((await api.call("GET", services, { auth: readOnly })).status).toBe(200);
    const { body } = await api.call("POST", services, { body: { name: "roles" } });
    const state = `${services}/${body.result.service.id}/state`;
    expect((await api.call("PATCH", state, { auth: readOnly, body: { command: "stop" } })).status).toBe(403);
    expect((await api.call("PATCH", state, { auth: developer, body: { command: "stop" } })).status).toBe(200);
    expect((await api.call("POST", services, { auth: developer, body: { name: "x" } })).status).toBe(403);
    expect((await api.call("GET", "/v1/organizations/{o}/keys", { auth: developer })).status).toBe(403);
  });

  test("a credential that has expired before it exists is refused", async () => {
    const past = { name: "k", expireAt: "2020-01-01T00:00:00Z" };
    const bodies = { keys: { ...past, roles: ["admin"] }, accessTokens: past };
    for (const [kind, body] of Object.entries(bodies)) {
      const { status, body: answer } = await api.call("POST", `/v1/organizations/{o}/${kind}`, { body });
      expect([status, answer.issues?.[0]?.path ?? answer.error?.issues?.[0]?.path]).toEqual([400, "expireAt"]);
    }
  });

  test("disabled and expired keys are refused; use is noted to the minute", async () => {
    const { body } = await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "k", roles: ["admin"] } });
    const auth = basic(body.result.keyId, body.result.keySecret);
    const path = `/v1/organizations/{o}/keys/${body.result.key.id}`;
    expect((await api.call("GET", path)).body.result.usedAt).toBeUndefined();
    expect((await api.call("GET", path, { auth })).status).toBe(200);
    expect((await api.call("GET", path)).body.result.usedAt).toMatch(/:00\.000Z$/);
    await api.call("PATCH", path, { body: { state: "disabled" } });
    expect((await api.call("GET", path, { auth })).status).toBe(401);
    await api.call("PATCH", path, { body: { state: "enabled", expireAt: "2020-01-01T00:00:00Z" } });
    expect((await api.call("GET", path, { auth })).status).toBe(401);
    await api.call("PATCH", path, { body: { expireAt: null } });
    expect((await api.call("GET", path, { auth })).status).toBe(200);
    expect((await api.call("DELETE", path, { auth })).status).toBe(409);
    for (const body of [{ state: "disabled" }, { roles: ["developer"] }, { expireAt: "2020-01-01T00:00:00Z" }]) {
      expect((await api.call("PATCH", path, { auth, body })).status).toBe(409);
    }
    expect((await api.call("DELETE", path)).status).toBe(200);
    expect((await api.call("GET", path)).status).toBe(404);
  });

  test("secrets of keys appear only where they are created", async () => {
    const { body } = await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "k", roles: ["admin"] } });
    const listed = await api.call("GET", "/v1/organizations/{o}/keys");
    expect(listed.text).not.toContain(body.result.keySecret);
    expect(listed.text).not.toContain(api.keySecret);
  });

  test.each([
    ["broken JSON", '{"name": ', 400, "INVALID_JSON"],
    ["an empty body", "", 400, "INVALID_JSON"],
    ["not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), 400, "INVALID_JSON"],
    ["a JSON array", "[]", 400, "BAD_REQUEST"],
    ["a wrong type", '{"name": 5}', 400, "BAD_REQUEST"],
    ["an unknown field", '{"name":"a","colour":"red"}', 400, "BAD_REQUEST"],
    ["an unknown enum value", '{"name":"a","provider":"moon"}', 400, "BAD_REQUEST"],
    ["a NUL byte", '{"name":"a\\u0000b"}', 400, "BAD_REQUEST"],
    ["a prototype member", '{"name":"a","__proto__":{"admin":true}}', 400, "BAD_REQUEST"],
    ["deep nesting", `${"[".repeat(200_000)}${"]".repeat(200_000)}`, 400, "BAD_REQUEST"],
    ["a huge body", `{"name":"${"a".repeat(2_000_000)}"}`, 413, "PAYLOAD_TOO_LARGE"],
  ])("%s is refused and changes nothing", async (_name, body, status, code) => {
    const before = (await api.call("GET", services)).body.result.length;
    const answer = await api.call("POST", services, { body });
    expect(answer.body).toMatchObject({ status, code });
    expect(answer.status).toBe(status);
    expect((await api.call("GET", services)).body.result.length).toBe(before);
  });

  test("another content type is 415, another method 405 with Allow, a bad uuid 400 with its path", async () => {
    const text = await api.call("POST", services, { body: "name=a", headers: { "content-type": "text/plain" } });
    expect(text.status).toBe(415);
    const put = await api.call("PUT", services);
    expect([put.status, put.headers.allow]).toEqual([405, "GET, POST"]);
    const bad = await api.call("GET", `${services}/not-a-uuid`);
    expect(bad.status).toBe(400);
    expect(bad.body.issues).toEqual([{ path: "serviceId", message: "must be a uuid" }]);
    expect((await api.call("GET", "/v1/nothing")).body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect((await api.call("GET", "/v1/organizations/%zz/services")).status).toBe(400);
  });

  test("QUERY, which no operation has, is refused with and without a content type", async () => {
    const query = await api.call("QUERY", services);
    expect([query.status, query.headers.allow]).toEqual([405, "GET, POST"]);
    expect((await api.call("QUERY", services, { body: {} })).status).toBe(405);
    expect((await api.call("QUERY", "/v1/nothing")).status).toBe(415);
    expect((await api.call("QUERY", "/v1/nothing", { body: {} })).status).toBe(404);
  });

  test("a trailing slash is accepted", async () => {
    expect((await api.call("GET", `${services}/`)).status).toBe(200);
    expect((await api.call("POST", `${services}/`, { body: { name: "slash" } })).status).toBe(200);
  });

  test("all issues are listed at once", async () => {
    const { body } = await api.call("POST", services, {
      body: { name: "", idleTimeoutMinutes: 4, ipAccessList: [{ source: "300.1.1.1" }], minReplicaMemoryGb: 7 },
    });
    expect(body.issues.map((issue: { path: string }) => issue.path).sort()).toEqual([
      "idleTimeoutMinutes",
      "ipAccessList.0.source",
      "minReplicaMemoryGb",
      "name",
      "name",
    ]);
  });
});

describe("what is wrong with a request is said in words", () => {
  test("a member that another operation on the same object changes is told with that operation", async () => {
    await using api = await startApi();
    const service = (await api.call("POST", services, { body: { name: "x" } })).body.result.service;
    const path = `${services}/${service.id}`;
    const body = { idleScaling: false, state: "stopped", tags: { adds: [] }, nam: "y" };
    const place = "/v1/organizations/{organizationId}/services/{serviceId}";
    const other = "is a member of PATCH";
    expect((await api.call("PATCH", path, { body })).body.issues).toEqual([
      { path: "tags.adds", message: "is not a known field; did you mean add?" },
      { path: "idleScaling", message: `${other} ${place}/replicaScaling` },
      { path: "state", message: `${other} ${place}/state` },
      { path: "nam", message: "is not a known field; did you mean name?" },
    ]);
  });

  test.each([
    [{}, "name: is required: text"],
    [{ name: 5 }, "name: must be text, not the number 5"],
    [[1], "must be an object, not a list"],
    [{ name: "x", tags: "a" }, "tags: must be a list, not text"],
    [{ name: "x", idleScaling: null }, "idleScaling: must be true or false, not null"],
    [{ name: "x", idleTimeoutMinutes: 5.5 }, "idleTimeoutMinutes: must be a whole number, not the number 5.5"],
    [{ name: "x", sice: 1 }, "sice: is not a known field"],
  ])("%j", async (body, message) => {
    await using api = await startApi();
    const answer = await api.call("POST", services, { body });
    expect([answer.status, answer.body.error]).toEqual([400, `BAD_REQUEST: Invalid request body: ${message}`]);
  });

  test("a choice names what there is", async () => {
    await using api = await startApi();
    const { body } = await api.call("POST", services, { body: { name: "x" } });
    const path = `${services}/${body.result.service.id}/state`;
    const said = async (sent: unknown) => (await api.call("PATCH", path, { body: sent })).body.issues;
    expect(await said({})).toEqual([{ path: "command", message: "is required: one of start, stop, awake" }]);
    const wrong = [{ path: "command", message: "must be one of start, stop, awake" }];
    expect(await said({ command: "restart" })).toEqual(wrong);
  });
});

test("a query parameter that the operation does not have is refused by name, at every operation", async () => {
  await using api = await startApi();
  for (const { method, path } of Object.values(managementOperations)) {
    const url = path
      .replace("{organizationId}", "{o}")
      .replace("{activityId}", "1")
      .replaceAll(/\{(\w+Id|userName)\}/g, () => randomUUID());
    const { status, body } = await api.call(method, `${url}?filters=tag:a=b&limitt=1`);
    expect([url, status, body.issues]).toEqual([
      ...[url, 400],
      ["filters", "limitt"].map((name) => ({ path: name, message: "is not a known query parameter" })),
    ]);
  }
});

describe("limits", () => {
  test("requests of one key are counted after authentication, with headers", async () => {
    let now = 0;
    await using api = await startApi({ rateLimit: 2, now: () => now });
    await api.call("GET", services, { auth: "Basic bm9ib2R5Og==" });
    const first = await api.call("GET", services);
    expect(first.headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "1",
      "x-ratelimit-reset": "10",
      "x-ratelimit-policy": '2;w=10;comment="fixed window"',
    });
    await api.call("GET", services);
    const third = await api.call("GET", services);
    expect([third.status, third.body.code, third.headers["retry-after"]]).toEqual([429, "TOO_MANY_REQUESTS", "10"]);
    now = 10_001;
    expect((await api.call("GET", services)).status).toBe(200);
  });

  test("failed logins are limited by address, and right ones still pass", async () => {
    await using api = await startApi({ loginFailureLimit: 3 });
    const statuses = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await api.call("GET", services, { auth: basic("a", "b") })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await api.call("GET", services)).status).toBe(200);
  });
});
