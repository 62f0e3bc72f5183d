/** Saved queries, charts, dashboards and drafts: who sees and changes them, and two people at once. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import type { KeyRole } from "../../src/api/keys.ts";
import { type Api, basic, startApi } from "./harness.ts";

const root = "/v1/organizations/{o}/savedObjects";
let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

async function keyOf(role: KeyRole, of = api, organizationId = of.organizationId) {
  const owner = { organizationId, name: `the ${role}`, expireAt: null };
  const { key, secret } = await of.credentials.createKey({ ...owner, role, state: "enabled" });
  return { id: key.id, auth: basic(key.keyId, secret) };
}

const dashboard = { kind: "dashboard", name: "Overview", content: { rows: [{ charts: [1, null, "é"] }] } };

test("what is saved comes back unchanged, with its owner, and is listed by kind without its content", async () => {
  const { auth } = await keyOf("developer");
  const { body } = await api.call("POST", root, { auth, body: dashboard });
  expect(body.result).toMatchObject({
    ...dashboard,
    version: 1,
    createdBy: "the developer",
    updatedBy: "the developer",
  });
  expect((await api.call("GET", `${root}/${body.result.id}`)).body.result).toEqual(body.result);
  const { content: _, ...summary } = body.result;
  expect((await api.call("GET", `${root}?kind=dashboard`)).body.result).toEqual([summary]);
  expect((await api.call("GET", `${root}?kind=query`)).body.result).toEqual([]);
  expect((await api.call("GET", `${root}?kind=other`)).status).toBe(400);
  expect((await api.call("DELETE", `${root}/${body.result.id}`)).status).toBe(200);
  expect((await api.call("GET", `${root}/${body.result.id}`)).status).toBe(404);
  expect((await api.call("DELETE", `${root}/${body.result.id}`)).status).toBe(404);
});

test("a change names the version that it is based on; of two at once, one is refused and told why", async () => {
  const made = (await api.call("POST", root, { body: dashboard })).body.result;
  const path = `${root}/${made.id}`;
  const changes = [{ name: "A" }, { content: { b: 1 } }].map((change) =>
    api.call("PATCH", path, { body: { version: 1, ...change } }),
  );
  const answers = await Promise.all(changes);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const refused = answers.find(({ status }) => status === 409);
  expect(refused?.body).toMatchObject({ code: "CONFLICT", issues: [{ path: "version" }] });
  expect(refused?.body.error).toContain("version is 2");
  expect((await api.call("GET", path)).body.result.version).toBe(2);
  const { auth } = await keyOf("developer");
  const last = await api.call("PATCH", path, { auth, body: { version: 2, name: "C" } });
  expect(last.body.result).toMatchObject({ version: 3, name: "C", createdBy: "admin", updatedBy: "the developer" });
  expect((await api.call("PATCH", path, { body: { name: "D" } })).status).toBe(400);
});

test("a key that only reads sees what is shared, and changes nothing", async () => {
  const { auth } = await keyOf("read_only");
  const { result } = (await api.call("POST", root, { body: dashboard })).body;
  const path = `${root}/${result.id}`;
  expect((await api.call("GET", path, { auth })).body.result).toEqual(result);
  expect((await api.call("GET", root, { auth })).body.result.map(({ id }: { id: string }) => id)).toContain(result.id);
  expect((await api.call("POST", root, { auth, body: dashboard })).status).toBe(403);
  expect((await api.call("PATCH", path, { auth, body: { version: 1, name: "x" } })).status).toBe(403);
  expect((await api.call("DELETE", path, { auth })).status).toBe(403);
});

test("a draft belongs to its key, and goes with it", async () => {
  const [mine, other] = [await keyOf("developer"), await keyOf("developer")];
  const body = { kind: "draft", name: "Unsaved", content: { query: "SELECT 1" } };
  const { id } = (await api.call("POST", root, { auth: mine.auth, body })).body.result;
  const path = `${root}/${id}`;
  const drafts = async (auth: string) => (await api.call("GET", `${root}?kind=draft`, { auth })).body.result.length;
  expect([await drafts(mine.auth), await drafts(other.auth)]).toEqual([1, 0]);
  // Also not to an admin, and not by its id.
  for (const { auth } of [other, await keyOf("admin")]) {
    expect((await api.call("GET", path, { auth })).status).toBe(404);
    expect((await api.call("PATCH", path, { auth, body: { version: 1, name: "x" } })).status).toBe(404);
    expect((await api.call("DELETE", path, { auth })).status).toBe(404);
  }
  expect((await api.call("PATCH", path, { auth: mine.auth, body: { version: 1, name: "x" } })).status).toBe(200);
  await api.credentials.deleteKey(mine.id);
  expect(await api.db.all("SELECT * FROM saved_objects WHERE id = ?", id)).toEqual([]);
});

test("another organization sees nothing of it", async () => {
  const { id } = (await api.call("POST", root, { body: dashboard })).body.result;
  const foreign = await api.organizations.create("Other");
  const { auth } = await keyOf("admin", api, foreign.id);
  const theirs = `/v1/organizations/${foreign.id}/savedObjects`;
  expect((await api.call("GET", theirs, { auth })).body.result).toEqual([]);
  expect((await api.call("GET", `${theirs}/${id}`, { auth })).status).toBe(404);
  expect((await api.call("DELETE", `${theirs}/${id}`, { auth })).status).toBe(404);
});

test("size and number are bounded", async () => {
  const large = { ...dashboard, content: { text: "x".repeat(262_130) } };
  expect((await api.call("POST", root, { body: large })).status).toBe(200);
  const larger = { ...dashboard, content: { text: "é".repeat(131_072) } };
  expect((await api.call("POST", root, { body: larger })).status).toBe(400);
  for (const content of [[], "text", null]) {
    expect((await api.call("POST", root, { body: { ...dashboard, content } })).status).toBe(400);
  }
  const few = { ...limits, savedObjects: { most: 1, setting: "--saved-objects-per-organization" } };
  await using small = await startApi({ limits: few });
  expect((await small.call("POST", root, { body: dashboard })).status).toBe(200);
  const refused = await small.call("POST", root, { body: dashboard });
  expect([refused.status, refused.body.code]).toEqual([409, "LIMIT_REACHED"]);
});
