/** GET responses that are cached at the edge, those that must not be, and the entity tags of all. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { type Api, basic, startApi } from "./harness.ts";

const activity = { lastAt: Date.parse("2026-01-01T00:00:00Z") };
const workers: Record<string, number> = { lagMs: 5 };

let api: Api;
let service: string;
let serviceId: string;
let pipeId: string;
beforeAll(async () => {
  api = await startApi({ gauges: () => workers, lastActivityAt: () => activity.lastAt });
  const created = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  serviceId = created.body.result.service.id;
  service = `/v1/organizations/{o}/services/${serviceId}`;
  pipeId = await api.pipes.create(newPipe("p"), limits.pipes);
});
afterAll(() => api[Symbol.asyncDispose]());

function newPipe(name: string) {
  const definition = { sourceKind: "objectStorage", source: { objectStorage: {} }, destination: {}, fieldMappings: [] };
  return { serviceId, name, ...definition, scaling: {}, settings: {}, secrets: {}, roles: undefined };
}

/** Why the response is more than stored data; a new GET must be listed here, or be `storedOnly` or `sampled`. */
const live = {
  // Engines are asked.
  ...{ listFields: "engine", listFieldValues: "engine", suggestSources: "engine" },
  // Activity and disk use are known in memory before they are stored.
  ...{ listServices: "memory", getService: "memory" },
  // Sessions end by the clock, and one is the caller's own.
  ...{ getMe: "session", listSessions: "session" },
  // The running engine is asked.
  ...{ listTables: "engine", getTable: "engine", getCompletions: "engine", listQueries: "engine" },
  getSystem: "the program",
  // Drafts belong to one key.
  ...{ listSavedObjects: "caller", getSavedObject: "caller" },
  // Running workers report gauges.
  getPipe: "workers",
  ...{ getPrometheus: "engine", getServicePrometheus: "engine" },
  // Until now, from files beside the store.
  ...{ getPipeMetrics: "clock", getServiceMetrics: "clock" },
  ...{ listPipeErrors: "engine", listPipeErrorRows: "engine" },
  // Running backups have a duration, and retention depends on ages.
  ...{ listBackups: "clock", getBackup: "clock", listAllBackups: "clock", previewRetention: "clock" },
};

test("every GET is either made of stored data alone, or named with what else it holds", () => {
  const operations = Object.entries({ ...managementOperations, ...observabilityOperations }) as [
    string,
    { method: string; storedOnly?: true; sampled?: true },
  ][];
  const unkept = operations.filter(([, operation]) => operation.method === "GET" && !isCached(operation));
  expect(unkept.map(([id]) => id).sort()).toEqual(Object.keys(live).sort());
  expect(operations.filter(([, operation]) => operation.method !== "GET" && isCached(operation))).toEqual([]);
});

const isCached = ({ storedOnly, sampled }: { storedOnly?: true; sampled?: true }) => storedOnly ?? sampled ?? false;

describe("what is made of stored data alone", () => {
  test("is asked for again with its tag: 304 without a body, in a new envelope the same tag", async () => {
    const first = await api.call("GET", `${service}/pipes`);
    expect(first.headers).toMatchObject({
      etag: expect.stringMatching(/^W\/"[\w-]{22}"$/),
      "cache-control": "private, no-cache",
      vary: "Authorization, Cookie",
    });
    const again = await api.call("GET", `${service}/pipes`);
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(again.body.requestId).not.toBe(first.body.requestId);
    const tag = first.headers.etag as string;
    for (const known of [tag, tag.slice(2), `"other", ${tag}`, "*"]) {
      const answer = await api.call("GET", `${service}/pipes`, { headers: { "if-none-match": known } });
      expect([answer.status, answer.text]).toEqual([304, ""]);
      expect(answer.headers).toMatchObject({ etag: tag, "x-content-type-options": "nosniff" });
      expect(Number(answer.headers["x-ratelimit-remaining"])).toBeGreaterThan(0);
    }
  });

  test("is new after a change, and has its tag back when it is as before", async () => {
    const settings = async (known = "") => {
      const answer = await api.call("GET", `${service}/pipes/${pipeId}/settings`, {
        headers: { "if-none-match": known },
      });
      return { status: answer.status, tag: answer.headers.etag as string, result: answer.body?.result };
    };
    const before = await settings();
    await api.pipes.change(pipeId, { settings: { database_max_threads: 3 } });
    const changed = await settings(before.tag);
    expect(changed).toMatchObject({ status: 200, result: { database_max_threads: 3 } });
    expect(changed.tag).not.toBe(before.tag);
    await api.pipes.change(pipeId, { settings: {} });
    expect((await settings(before.tag)).status).toBe(304);
  });

  test("shows every write at once, whatever the table and whoever wrote it", async () => {
    for (let i = 0; i < 20; i += 1) {
      await api.services.addUser({ serviceId, name: `u${i}`, passwordSha256: "", readonly: false }, limits.users);
      expect((await api.call("GET", `${service}/users`)).body.result).toHaveLength(i + 2);
      await api.pipes.create(newPipe(`p${i}`), limits.pipes);
      expect((await api.call("GET", `${service}/pipes`)).body.result).toHaveLength(i + 2);
      await api.organizations.rename(api.organizationId, `name ${i}`);
      expect((await api.call("GET", "/v1/organizations/{o}")).body.result.name).toBe(`name ${i}`);
    }
  });

  test("differs by parameters, also those of the query", async () => {
    const events = async (query: string) =>
      (await api.call("GET", `/v1/organizations/{o}/auditEvents${query}`)).body.result;
    await api.call("GET", service, { auth: basic(api.keyId, "wrong") });
    await api.trail.close();
    expect(await events("?type=login_refused")).not.toEqual(await events("?type=login"));
    expect(await events("?limit=1")).toHaveLength(1);
  });

  test("is never given to another organization, nor without a credential", async () => {
    const other = await api.organizations.create("Other");
    const owner = { organizationId: other.id, name: "k", expireAt: null };
    const { key, secret } = await api.credentials.createKey({ ...owner, role: "admin", state: "enabled" });
    const auth = basic(key.keyId, secret);
    const ours = await api.call("GET", "/v1/organizations");
    const headers = { "if-none-match": ours.headers.etag as string };
    expect((await api.call("GET", "/v1/organizations", { auth, headers })).body.result[0].name).toBe("Other");
    expect((await api.call("GET", `${service}/pipes`, { auth, headers: { "if-none-match": "*" } })).status).toBe(404);
    expect((await api.call("GET", "/v1/organizations", { auth: null, headers })).status).toBe(401);
  });
});

describe("what is more than stored data is made for each request; its tag is that of what it says now", () => {
  let known = "";
  const unkept = async (path: string) => {
    const { status, headers, body } = await api.call("GET", path, { headers: { "if-none-match": known } });
    expect(status).toBe(200);
    expect(headers["cache-control"]).toBe("private, no-cache");
    known = headers.etag as string;
    expect(known).toMatch(/^W\/"(\d+\.)?[\w-]{22}"$/);
    return body.result;
  };

  test("nothing new: 304", async () => {
    const { headers } = await api.call("GET", service);
    const again = await api.call("GET", service, { headers: { "if-none-match": headers.etag as string } });
    expect([again.status, again.text]).toEqual([304, ""]);
  });

  test("workers: gauges of a pipe", async () => {
    workers.lagMs = 5;
    expect((await unkept(`${service}/pipes/${pipeId}`)).progress.lagMs).toBe(5);
    workers.lagMs = 6;
    expect((await unkept(`${service}/pipes/${pipeId}`)).progress.lagMs).toBe(6);
  });

  test("memory: the last activity of a service", async () => {
    const read = async () => [
      (await unkept(service)).idle.lastQueryAt,
      (await unkept("/v1/organizations/{o}/services"))[0].idle.lastQueryAt,
    ];
    expect(await read()).toEqual(Array(2).fill("2026-01-01T00:00:00.000Z"));
    activity.lastAt += 1_000;
    expect(await read()).toEqual(Array(2).fill("2026-01-01T00:00:01.000Z"));
  });

  test("clock: how long a backup runs", async () => {
    const begun = {
      location: { kind: "local", root: "" } as const,
      encrypted: false,
      startedAt: new Date().toISOString(),
    };
    const names = { organizationId: api.organizationId, serviceId, serviceName: "s", name: "b" };
    const kind = { trigger: "request", status: "in_progress", type: "full", baseId: null } as const;
    const id = await api.backups.insert({ ...names, ...kind, ...begun });
    for (const path of [`${service}/backups`, `${service}/backups/${id}`, "/v1/organizations/{o}/backups"]) {
      const duration = async () => [await unkept(path)].flat()[0].durationInSeconds as number;
      const before = await duration();
      await expect.poll(duration).toBeGreaterThan(before);
    }
    await unkept(`${service}/backupRetention`);
  });
});
