/** The audit trail of API keys: logins, refusals, and who may read it. */
import { expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { basic, startApi } from "./harness.ts";

const path = "/v1/organizations/{o}/auditEvents";

test("logins and refusals of keys are there, with their number; only an admin reads them", async () => {
  await using api = await startApi();
  const made = await api.call("POST", "/v1/organizations/{o}/keys", { body: { name: "d", roles: ["developer"] } });
  const { key, keyId, keySecret } = made.body.result;
  for (let i = 0; i < 3; i += 1) await api.call("GET", path, { auth: basic(keyId, "wrong") });
  await api.call("GET", path, { auth: basic("nobody", "wrong") });
  const developer = await api.call("GET", path, { auth: basic(keyId, keySecret) });
  expect(developer.status).toBe(403);
  await api.trail.close();
  const { result } = (await api.call("GET", path)).body;
  const of = (actorId: string) => result.filter((event: { actorId: string }) => event.actorId === actorId);
  expect(of(key.id)).toMatchObject([
    { type: "login", count: 1, actorType: "api_key", actorIpAddress: "127.0.0.1", details: "" },
    { type: "login_refused", count: 3, details: "wrong secret" },
  ]);
  expect(JSON.stringify(result)).not.toContain("nobody");
  const refused = (await api.call("GET", `${path}?type=login_refused&limit=1`)).body.result;
  expect(refused).toHaveLength(1);
  expect((await api.call("GET", `${path}?limit=1001`)).status).toBe(400);
  expect((await api.call("GET", `${path}?type=x`)).status).toBe(400);
});

test("another organization sees nothing of it", async () => {
  await using api = await startApi();
  const other = await api.organizations.create("Other");
  const made = await api.credentials.createKey({
    ...{ organizationId: other.id, name: "k", role: "admin", state: "enabled", expireAt: null },
    limit: limits.keys,
  });
  const auth = basic(made.key.keyId, made.secret);
  await api.call("GET", path, { auth: basic(api.keyId, "wrong") });
  await api.trail.close();
  expect((await api.call("GET", path, { auth })).status).toBe(404);
  const own = await api.call("GET", `/v1/organizations/${other.id}/auditEvents`, { auth });
  expect(JSON.stringify(own.body.result)).not.toContain("login_refused");
});
