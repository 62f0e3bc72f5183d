/** The access list of an API key. Requests of these tests come from 127.0.0.1. */
import { expect, test } from "vitest";
import { basic, startApi } from "./harness.ts";

const keys = "/v1/organizations/{o}/keys";

async function createKey(api: Awaited<ReturnType<typeof startApi>>, more: object = {}) {
  const made = await api.call("POST", keys, { body: { name: "k", roles: ["admin"], ...more } });
  expect(made.status).toBe(200);
  const { key, keyId, keySecret } = made.body.result;
  return { key, auth: basic(keyId, keySecret) };
}

test("a key without a list is accepted from anywhere, and says so", async () => {
  await using api = await startApi();
  const { key, auth } = await createKey(api);
  expect(key.ipAccessList.map(({ source }: { source: string }) => source)).toEqual(["0.0.0.0/0", "::/0"]);
  expect((await api.call("GET", keys, { auth })).status).toBe(200);
});

test("a key is refused at an address that its list does not admit, with the address and in the audit trail", async () => {
  await using api = await startApi();
  const { key, auth } = await createKey(api, { ipAccessList: [{ source: "10.0.0.0/8", description: "office" }] });
  const refused = await api.call("GET", keys, { auth });
  expect(refused.status).toBe(403);
  expect(refused.body.error).toContain("127.0.0.1");
  await api.trail.close();
  const { result } = (await api.call("GET", "/v1/organizations/{o}/auditEvents?type=login_refused")).body;
  expect(result).toMatchObject([{ actorId: key.id, details: "address not on the key's ipAccessList" }]);
});

test("an empty list admits nobody, and a changed one holds from the next request on", async () => {
  await using api = await startApi();
  const { key, auth } = await createKey(api, { ipAccessList: [] });
  expect((await api.call("GET", keys, { auth })).status).toBe(403);
  const list = [{ source: "127.0.0.0/8" }];
  const changed = await api.call("PATCH", `${keys}/${key.id}`, { body: { ipAccessList: list } });
  expect(changed.body.result.ipAccessList).toEqual([{ source: "127.0.0.0/8", description: "" }]);
  expect((await api.call("GET", keys, { auth })).status).toBe(200);
});

test("a key cannot shut itself out", async () => {
  await using api = await startApi();
  const { key, auth } = await createKey(api);
  const list = [{ source: "10.0.0.0/8" }];
  expect((await api.call("PATCH", `${keys}/${key.id}`, { auth, body: { ipAccessList: list } })).status).toBe(409);
  expect((await api.call("GET", keys, { auth })).status).toBe(200);
});

test("an entry that is not an address names its field", async () => {
  await using api = await startApi();
  const body = { name: "k", roles: ["admin"], ipAccessList: [{ source: "office" }] };
  const refused = await api.call("POST", keys, { body });
  expect(refused.status).toBe(400);
  expect(refused.body.error).toContain("ipAccessList.0.source");
});
