/** Chart sources, saved searches, dashboards, webhooks and alerts for clients of the ClickHouse Cloud API. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CloudCall, cloudCaller } from "./cloud.ts";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let call: CloudCall;
let serviceId: string;
let path: string;

beforeAll(async () => {
  api = await startApi();
  call = cloudCaller(api);
  serviceId = (await call("POST", "/services", { name: "s" })).body.result.service.id;
  path = `/services/${serviceId}/clickstack`;
});
afterAll(() => api[Symbol.asyncDispose]());

async function made(of: string, body: object) {
  const { status, body: answer } = await call("POST", `${path}/${of}`, body);
  expect(status, answer.error).toBe(200);
  return answer.result;
}

test("each kind is created, listed, read, replaced and deleted", async () => {
  const source = await made("sources", {
    ...{ name: "spans", kind: "trace", connection: serviceId, durationPrecision: 9, traceIdExpression: "TraceId" },
    ...{ from: { databaseName: "otel", tableName: "otel_traces" }, timestampValueExpression: "Timestamp" },
  });
  expect(source).toMatchObject({ durationPrecision: 9, traceIdExpression: "TraceId" });
  const search = await made("saved-searches", { name: "Errors", sourceId: source.id, where: "a:b" });
  const webhook = await made("webhooks", {
    name: "hook",
    service: "generic",
    url: "https://alerts.example.com/secret",
  });
  // Clients that compare what they have sent with what is there need it; other roles do not get it.
  expect(webhook.url).toBe("https://alerts.example.com/secret");
  const owner = { organizationId: api.organizationId, name: "d", expireAt: null, state: "enabled" } as const;
  const { key, secret } = await api.credentials.createKey({ ...owner, role: "developer" });
  const auth = basic(key.keyId, secret);
  const shown = await api.call("GET", `/cloud/v1/organizations/{o}${path}/webhooks`, { auth });
  expect(shown.body.result).toMatchObject([{ name: "hook" }]);
  expect(shown.text).not.toContain("secret");
  const page = (await call("GET", `${path}/webhooks?limit=200&offset=0`)).body.result;
  expect(page).toEqual([webhook]);
  expect((await call("GET", `${path}/webhooks?limit=200&offset=1`)).body.result).toEqual([]);
  const tile = { name: "Tile", x: 0, y: 0, w: 6, h: 3, config: { displayType: "markdown", markdown: "a" } };
  const dashboard = await made("dashboards", { name: "Overview", tiles: [tile] });
  const condition = { threshold: 1, thresholdType: "above", interval: "5m", savedSearchId: search.id };
  const channel = { type: "webhook", webhookId: webhook.id };
  const alert = await made("alerts", { ...condition, channels: [channel] });
  expect(alert).toMatchObject({ channel, channels: [channel] });
  const checked = await made("dashboards/validate", { name: "Overview", tiles: [tile] });
  expect(checked).toMatchObject({ valid: true, errors: [] });
  const kinds = { alerts: alert, dashboards: dashboard, "saved-searches": search };
  for (const [kind, record] of Object.entries(kinds)) {
    expect((await call("GET", `${path}/${kind}`)).body.result).toEqual([record]);
    const one = `${path}/${kind}/${record.id}`;
    expect((await call("GET", one)).body.result).toEqual(record);
    const replaced = await call("PUT", one, { ...record, name: "Another" });
    expect(replaced.body.result).toMatchObject({ id: record.id, name: "Another", version: 2 });
    expect((await call("DELETE", one)).status).toBe(200);
    expect((await call("GET", one)).status).toBe(404);
  }
  const hook = { name: "other", service: "generic", url: "https://alerts.example.com/" };
  expect((await call("PUT", `${path}/webhooks/${webhook.id}`, hook)).body.result).toMatchObject({ name: "other" });
  expect((await call("GET", `${path}/webhooks`)).body.result).toHaveLength(1);
  expect((await call("DELETE", `${path}/webhooks/${webhook.id}`)).status).toBe(200);
});

test("a list is whole, however long it is", async () => {
  const { organizationId } = api;
  const rows = Array.from(
    { length: 1001 },
    (_, i) => `('d${i}', '${organizationId}', 'tiledDashboard', 'n',
    '{"name":"n","tiles":[],"tags":[],"filters":[]}', 1, '', '', '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z')`,
  );
  const columns = "id, organization_id, kind, name, content, version, created_by, updated_by, created_at, updated_at";
  await api.db.run(`INSERT INTO saved_objects (${columns}) VALUES ${rows.join(", ")}`);
  const { body } = await api.call("GET", `/cloud/v1/organizations/${organizationId}${path}/dashboards`);
  expect(new Set(body.result.map(({ id }: { id: string }) => id)).size).toBe(1001);
});

test("a service that does not exist, a wrong member and a role are refused in a sentence", async () => {
  const nowhere = "/services/3f2504e0-4f89-41d3-9a0c-0305e82c3301/clickstack/alerts";
  expect((await call("GET", nowhere)).status).toBe(404);
  const refused = await call("POST", `${path}/dashboards`, { name: "n", tiles: [], colour: "red" });
  expect(refused.body).toMatchObject({ status: 400, issues: [{ path: "colour" }] });
  expect((await call("GET", `${path}/roles`)).body.result).toEqual([]);
  expect((await call("POST", `${path}/roles`, {})).body.code).toBe("NOT_SUPPORTED");
});

test("the caller is named, and what is not here is refused by its name", async () => {
  const { body } = await api.call("GET", "/cloud/v1/whoami");
  expect(body.result).toMatchObject({ actorType: "apiKey", organizationId: api.organizationId });
  for (const part of ["creditBalances", "notificationTypes", "prometheus/discovery"]) {
    expect((await call("GET", `/${part}`)).body, part).toMatchObject({ status: 400, code: "NOT_SUPPORTED" });
  }
  for (const part of ["snapshots", "replicaAwareRouting", "query-api-endpoints", "saved-queries"]) {
    expect((await call("GET", `/services/${serviceId}/${part}`)).body, part).toMatchObject({ code: "NOT_SUPPORTED" });
  }
  const wrong = await call("GET", `/services/${serviceId}/clickpipes/x`);
  expect(wrong.body.error).toContain("clickPipeId");
});
