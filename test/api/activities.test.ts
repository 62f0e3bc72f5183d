/** Activities: who did what, and what became of services and pipes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { leavesActivity } from "../../src/api/activities.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { FailedLogins } from "../../src/endpoint/auth/failed-logins.ts";
import { memberNames } from "../../src/http/activities.ts";
import { Authenticator } from "../../src/http/caller/auth.ts";
import { BrowserRequests } from "../../src/http/caller/browser.ts";
import { RateLimiter } from "../../src/http/caller/rate-limit.ts";
import { createApiServer } from "../../src/http/server/server.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { NewActivity } from "../../src/store/access/activities.ts";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let serviceId: string;
beforeAll(async () => {
  api = await startApi();
  const created = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "shop" } });
  serviceId = created.body.result.service.id;
});
afterAll(() => api[Symbol.asyncDispose]());

async function list(query = "") {
  const { body } = await api.call("GET", `/v1/organizations/{o}/activities${query}`);
  return body.result.activities as Record<string, unknown>[];
}

async function newPipe(): Promise<string> {
  const definition = { sourceKind: "objectStorage", source: {}, destination: {}, fieldMappings: [] };
  const rest = { scaling: {}, settings: {}, secrets: {}, roles: undefined };
  return await api.pipes.create({ serviceId, name: "clicks", ...definition, ...rest }, limits.pipes);
}

async function tokenOf() {
  const { secret } = await api.credentials.createToken({
    ...{ organizationId: api.organizationId, name: "t", expireAt: null },
  });
  return { accessToken: secret };
}

describe("every operation", () => {
  /** The real server and table; what the operations do and accept is left out. */
  const anyRequest = (table: Record<string, Operation>) =>
    Object.fromEntries(
      Object.entries(table).map(([id, { body: _, query: __, streams: ___, ...operation }]) => [id, operation]),
    );
  const anyAnswer = (table: Record<string, Operation>) =>
    Object.fromEntries(Object.keys(table).map((id) => [id, async () => ({})]));

  async function activitiesOf(name: "management" | "observability"): Promise<Map<string, NewActivity[]>> {
    const tables: Record<string, Record<string, Operation>> = {
      management: managementOperations,
      observability: observabilityOperations,
    };
    const table = tables[name] as Record<string, Operation>;
    const added: NewActivity[] = [];
    const { accessToken } = await tokenOf();
    const mounted = { operations: anyRequest(table), handlers: anyAnswer(table) };
    const none = { operations: {}, handlers: {} };
    const server = await createApiServer({
      authenticator: new Authenticator(api, new FailedLogins({ perMinute: 9 })),
      rateLimiter: new RateLimiter({ limit: 10_000, windowSeconds: 10 }),
      browser: new BrowserRequests({ port: () => 8150, secure: false, tls: false, publicUrl: undefined }),
      requireKnownHost: () => {},
      ...{ logger: createLogger("silent"), bodyLimitBytes: 1_000, tls: undefined },
      management: name === "management" ? mounted : none,
      observability: name === "observability" ? mounted : none,
      ...{ revision: () => 0, sampledRevision: () => 0, extend: () => {}, signal: new AbortController().signal },
      activities: { add: async (activity) => void added.push(activity), nameOf: async () => "before" },
    });
    const found = new Map<string, NewActivity[]>();
    for (const [id, { method, path }] of Object.entries(table)) {
      const url = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => paramValue(param));
      const authorization = name === "management" ? basic(api.keyId, api.keySecret) : `Bearer ${accessToken}`;
      const { statusCode } = await server.inject({ method, url, headers: { authorization } });
      expect([id, statusCode]).toEqual([id, 200]);
      found.set(id, added.splice(0));
    }
    await server.close();
    return found;
  }

  const paramValue = (param: string) =>
    param === "organizationId" ? api.organizationId : param === "activityId" ? "1" : randomUUID();

  test.each(["management", "observability"] as const)(
    "of the %s API that is not a GET leaves one activity, with its actor",
    async (name) => {
      const found = await activitiesOf(name);
      const table = (name === "management" ? managementOperations : observabilityOperations) as Record<
        string,
        Operation
      >;
      for (const [id, operation] of Object.entries(table)) {
        const isChange = operation.method !== "GET" && operation.readsOnly !== true;
        expect([id, leavesActivity(operation)]).toEqual([id, isChange]);
        const expected = {
          organizationId: api.organizationId,
          actor: { id: expect.any(String) },
          type: expect.any(String),
        };
        expect([id, found.get(id)]).toMatchObject([id, isChange ? [expected] : []]);
      }
      const types = [...found.values()].flat().map(({ type }) => type);
      expect(new Set(types).size).toBe(types.length);
    },
  );

  test("of the management API is a change: a POST that reads must be declared here", () => {
    const reads = Object.entries(managementOperations as Record<string, Operation>).filter(
      ([, { readsOnly }]) => readsOnly,
    );
    expect(reads.map(([id]) => id).sort()).toEqual([
      "discoverSchema",
      "listSource",
      "planRestore",
      "planServiceMove",
      "runAtQueryEndpoint",
      "runQuery",
      "validatePipe",
    ]);
  });
});

describe("a request", () => {
  test("is recorded with actor, object and the names of what it set; never with values", async () => {
    const body = { name: "shop two", ipAccessList: { add: [{ source: "10.1.2.3", description: "hidden" }] } };
    const headers = { "user-agent": "curl/8" };
    const path = `/v1/organizations/{o}/services/${serviceId}`;
    expect((await api.call("PATCH", path, { body, headers })).status).toBe(200);
    const [activity] = await list("?type=service_update");
    expect(activity).toEqual({
      ...{ id: expect.any(String), createdAt: expect.any(String), type: "service_update" },
      ...{ actorType: "api", actorId: expect.any(String), actorDetails: "admin", actorIpAddress: "127.0.0.1" },
      ...{ userAgent: "curl/8", requestId: expect.any(String), organizationId: api.organizationId, serviceId },
      ...{ objectType: "service", objectId: serviceId, objectName: "shop", fields: ["name", "ipAccessList.add"] },
    });
    expect(JSON.stringify(await list())).not.toMatch(/hidden|10\.1\.2\.3/);
    expect((await api.call("GET", `/v1/organizations/{o}/activities/${activity?.id}`)).body.result).toEqual(activity);
    const { body: refused } = await api.call("GET", "/v1/organizations/{o}/activities/-1");
    expect(refused.issues).toEqual([{ path: "activityId", message: "must be the id of an activity" }]);
  });

  test("that creates names the new object, one that deletes the name that is gone", async () => {
    const created = await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "ci", roles: ["admin"] } });
    const { id } = created.body.result.key;
    await api.call("DELETE", `/v1/organizations/{o}/keys/${id}`);
    const found = (await list(`?object=${id}`)).map(({ type, objectName, objectType }) => [
      type,
      objectType,
      objectName,
    ]);
    expect(found).toEqual([
      ["key_delete", "key", "ci"],
      ["key_create", "key", "ci"],
    ]);
    expect(JSON.stringify(await list())).not.toContain(created.body.result.keySecret);
  });

  test("that replaces an object names what it changes of it, and not all that it sends", async () => {
    const { accessToken } = await tokenOf();
    const auth = `Bearer ${accessToken}`;
    const webhook = { name: "hook", service: "generic", url: "https://alerts.example.com/" };
    const sent = async (method: string, path: string, body: object) =>
      (await api.call(method, path, { auth, body })).body.data.id as string;
    const webhookId = await sent("POST", "/api/v2/webhooks", webhook);
    const alert = {
      ...{ source: "state", metric: "pipe_attention", name: "late", threshold: 1, thresholdType: "above" },
      ...{ interval: "1m", channel: { type: "webhook", webhookId } },
    };
    const alertId = await sent("POST", "/api/v2/alerts", alert);
    await sent("PUT", `/api/v2/alerts/${alertId}`, { ...alert, interval: "5m", note: "call the owner" });
    const [replaced] = await list(`?object=${alertId}`);
    expect(replaced).toMatchObject({ type: "alert_replace", fields: ["note", "interval"] });
  });

  test("that is refused leaves nothing", async () => {
    const before = await list();
    await api.call("PATCH", `/v1/organizations/{o}/services/${serviceId}`, { body: { name: "" } });
    await api.call("DELETE", `/v1/organizations/{o}/services/${randomUUID()}`);
    expect(await list()).toEqual(before);
  });

  test("names members, never values, down to credentials", () => {
    const source = { messageBroker: { credentials: { password: "sesame" }, topics: ["a"] } };
    expect(memberNames({ source, settings: {}, name: null })).toEqual([
      ...["source.messageBroker.credentials", "source.messageBroker.topics", "settings", "name"],
    ]);
  });
});

describe("a state", () => {
  test("of a service or pipe is recorded with its reason, once, by the system", async () => {
    const id = await newPipe();
    await api.services.setState(serviceId, "running", null);
    await api.pipes.setState(id, "Degraded", "the source fails: no route", 1);
    await api.pipes.setState(id, "Degraded", "the source fails: no route", 2);
    await api.pipes.setState(id, "InternalError", "gave up", 2);
    const found = (await list(`?object=${id}`)).map(({ type, reason, actorType }) => [type, reason, actorType]);
    expect(found).toEqual([
      ["pipe_internal_error", "gave up", "system"],
      ["pipe_degraded", "the source fails: no route", "system"],
    ]);
    expect((await list("?actor=system&type=service_running")).length).toBe(1);
    expect((await list(`?object=${serviceId}`)).some(({ objectId }) => objectId === id)).toBe(true);
  });

  test("of a pipe is not recorded again for a reason that counts, nor is a draft", async () => {
    const id = await newPipe();
    for (const seconds of [5, 10, 15]) {
      await api.pipes.setState(id, "Degraded", `No answer for ${seconds} s.`, 1);
    }
    await api.pipes.setState(id, "Degraded", "The password is wrong.", 1);
    const kinds = (await list(`?object=${id}`)).map(({ type, reason }) => [type, reason]);
    expect(kinds.slice(0, 2)).toEqual([
      ["pipe_degraded", "The password is wrong."],
      ["pipe_degraded", "No answer for 5 s."],
    ]);
    expect(kinds.filter(([type]) => type === "pipe_degraded")).toHaveLength(2);
    const saved = "/v1/organizations/{o}/savedObjects";
    const body = (kind: string) => ({ body: { kind, name: "N", content: {} } });
    const before = (await list()).length;
    const draft = (await api.call("POST", saved, body("draft"))).body.result;
    await api.call("PATCH", `${saved}/${draft.id}`, { body: { version: 1, name: "M" } });
    await api.call("DELETE", `${saved}/${draft.id}`);
    expect(await list()).toHaveLength(before);
    const query = (await api.call("POST", saved, body("query"))).body.result;
    await api.call("PATCH", `${saved}/${query.id}`, { body: { version: 1, name: "M" } });
    await api.call("DELETE", `${saved}/${query.id}`);
    expect(await list()).toHaveLength(before + 3);
  });

  test("of a backup is recorded when it is done, has failed, was read back or goes", async () => {
    const begun = {
      location: { kind: "local", root: "" } as const,
      encrypted: false,
      startedAt: "2026-01-01T00:00:00Z",
    };
    const names = { organizationId: api.organizationId, serviceId, serviceName: "s", name: "b1" };
    const kind = { trigger: "request", status: "in_progress", type: "full", baseId: null } as const;
    const id = await api.backups.insert({ ...names, ...kind, ...begun });
    await api.backups.finish(id, { finishedAt: "2026-01-01T00:00:01Z", sizeBytes: 1, totalBytes: 1 });
    const check = { problems: ["a.bin: 3 bytes are missing"], deep: false, begunAt: "2026-01-01T00:00:02Z" };
    await api.backups.recordCheck(id, { ...check, verification: "failed" }, "2026-01-01T00:00:03Z");
    await api.backups.markDeleting(id);
    const found = (await list(`?object=${id}`)).map(({ type, reason }) => [type, reason]);
    expect(found).toEqual([
      ["backup_delete", undefined],
      ["backup_damaged", "a.bin: 3 bytes are missing"],
      ["backup_done", undefined],
    ]);
  });
});

describe("the list", () => {
  test("is read page by page while activities are added: none twice, none left out", async () => {
    const all = (await list("?limit=1000")).map(({ id }) => id);
    const seen: unknown[] = [];
    for (let cursor = "", i = 0; i < 100; i += 1) {
      const { result } = (await api.call("GET", `/v1/organizations/{o}/activities?limit=3${cursor}`)).body;
      seen.push(...result.activities.map(({ id }: { id: string }) => id));
      await api.services.setState(serviceId, i % 2 === 0 ? "idle" : "running", null);
      if (result.nextCursor === undefined) break;
      cursor = `&cursor=${result.nextCursor}`;
    }
    expect(seen).toEqual(all);
    expect((await api.call("GET", "/v1/organizations/{o}/activities?cursor=x")).status).toBe(400);
  });

  test("is of one organization, and filtered by time and actor", async () => {
    const other = await api.organizations.create("Other");
    const owner = { organizationId: other.id, name: "k", expireAt: null };
    const { key, secret } = await api.credentials.createKey({ ...owner, role: "admin", state: "enabled" });
    const auth = basic(key.keyId, secret);
    const theirs = await api.call("GET", `/v1/organizations/${other.id}/activities`, { auth });
    expect(theirs.body.result).toEqual({ activities: [] });
    const [newest] = await list("?limit=1");
    const unseen = await api.call("GET", `/v1/organizations/${other.id}/activities/${newest?.id}`, { auth });
    expect(unseen.status).toBe(404);
    expect(await list("?from=2030-01-01T00:00:00Z")).toEqual([]);
    expect(await list("?to=2020-01-01T00:00:00Z")).toEqual([]);
    expect((await list("?from=2020-01-01T02:00:00%2B02:00&limit=1")).length).toBe(1);
  });

  test("is bounded by age and by number for each organization", async () => {
    const before = await list("?limit=1000");
    expect(before.length).toBeGreaterThan(5);
    await api.activities.trim("2020-01-01T00:00:00.000Z", 5);
    expect(await list("?limit=1000")).toEqual(before.slice(0, 5));
    await api.activities.trim("2030-01-01T00:00:00.000Z", 5);
    expect(await list()).toEqual([]);
  });
});
