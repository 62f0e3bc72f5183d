/** Webhooks and alerts of the observability API: shapes, refusals, and secrets that are never shown. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let auth: string;
let sourceId: string;
let savedSearchId: string;
let dashboardId: string;
let webhookId: string;
let tiles: object[];

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  api.call(method, `/api/v2${path}`, { auth, headers, ...(body && { body }) });
const made = async (path: string, body: object) => (await call("POST", path, body)).body.data;

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  auth = `Bearer ${body.result.accessToken}`;
  const service = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  const from = { databaseName: "default", tableName: "logs" };
  const source = { name: "logs", kind: "log", from, timestampValueExpression: "t" };
  sourceId = (await made("/sources", { ...source, serviceId: service.body.result.service.id })).id;
  savedSearchId = (await made("/saved-searches", { name: "Errors", sourceId })).id;
  const select = [{ aggFn: "count" }];
  const tile = { name: "Tile", x: 0, y: 0, w: 6, h: 3 };
  tiles = [
    { ...tile, id: "line", config: { displayType: "line", sourceId, select } },
    { ...tile, id: "table", config: { displayType: "table", sourceId, select } },
  ];
  dashboardId = (await made("/dashboards", { name: "Overview", tiles })).id;
  webhookId = (await made("/webhooks", { ...hook(), name: "of all alerts" })).id;
});
afterAll(() => api[Symbol.asyncDispose]());

let hooks = 0;
const hook = (more: object = {}) => {
  hooks += 1;
  const sealed = { url: "https://alerts.example.com/secret-path", headers: { Authorization: "Bearer secret-header" } };
  return { name: `hook ${hooks}`, service: "generic", ...sealed, queryParams: { key: "secret-query" }, ...more };
};
const ofSearch = (more: object = {}) => ({
  ...{ savedSearchId, threshold: 10, thresholdType: "above", interval: "5m" },
  ...{ channel: { type: "webhook", webhookId }, ...more },
});
const ofTile = (more: object = {}) => ({
  ...ofSearch({ savedSearchId: undefined }),
  ...{ source: "tile", dashboardId, tileId: "line", ...more },
});

test("a webhook comes back without what may be secret, and the store holds none of it in the clear", async () => {
  const body = hook({ description: "Incidents", body: '{"a": "{{title}}"}' });
  const answer = await call("POST", "/webhooks", body);
  const { name, service, description } = body as unknown as Record<string, string>;
  expect(answer.body.data).toEqual({
    ...{ id: expect.any(String), name, service, description, body: '{"a": "{{title}}"}', version: 1 },
    ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
  });
  const path = `/webhooks/${answer.body.data.id}`;
  const replaced = await call("PUT", path, { name, service, url: "https://alerts.example.com/other-secret" });
  expect(replaced.body.data).toMatchObject({ version: 2 });
  expect(replaced.body.data).not.toHaveProperty("description");
  const opened = await api.webhooks.open(api.organizationId, answer.body.data.id);
  // Not sent: kept.
  expect(opened?.secrets).toEqual({
    ...{ url: "https://alerts.example.com/other-secret", headers: { Authorization: "Bearer secret-header" } },
    queryParams: { key: "secret-query" },
  });
  await call("PUT", path, { name, service, url: "https://alerts.example.com/x", headers: {}, queryParams: {} });
  const emptied = await api.webhooks.open(api.organizationId, answer.body.data.id);
  expect(emptied?.secrets).toMatchObject({ headers: {}, queryParams: {} });
  const elsewhere = { name, service, url: "https://evil.example/" };
  await call("PUT", path, hook({ name }));
  const redirected = await call("PUT", path, elsewhere);
  expect([redirected.status, redirected.body.issues.map((issue: { path: string }) => issue.path)]).toEqual([
    400,
    ["headers", "queryParams"],
  ]);
  expect((await call("PUT", path, { ...elsewhere, url: "http://alerts.example.com/" })).status).toBe(400);
  expect((await api.webhooks.open(api.organizationId, answer.body.data.id))?.secrets).toMatchObject({
    url: "https://alerts.example.com/secret-path",
  });
  expect((await call("PUT", path, { ...elsewhere, headers: {}, queryParams: {} })).status).toBe(200);
  const shown = [answer, replaced, await call("GET", "/webhooks")].map(({ text }) => text).join();
  const activities = (await api.call("GET", "/v1/organizations/{o}/activities")).text;
  const rows = JSON.stringify(await api.db.all("SELECT * FROM webhooks"));
  expect(shown + activities + rows).not.toMatch(/secret-|other-secret/);
});

test.each([
  [{ url: "ftp://alerts.example.com/" }, "url", "http or https"],
  [{ url: "not a url" }, "url", "http or https"],
  [{ url: "http://169.254.169.254/latest" }, "url", "metadata address"],
  [{ headers: { "a b": "c" } }, "headers.a b", ""],
  [{ headers: { Host: "other" } }, "headers.Host", "set by the server"],
  [{ headers: { Upgrade: "h2c" } }, "headers.Upgrade", "set by the server"],
  [{ headers: { "X-ClickHouse-Key": "k" } }, "headers.X-ClickHouse-Key", "is not for webhooks"],
  [{ headers: { "x-clickhouse-user": "u" } }, "headers.x-clickhouse-user", "is not for webhooks"],
  [{ headers: { a: "b\r\nc: d" } }, "headers.a", "control characters"],
  [{ body: "{{who}}" }, "body", "{{who}} stands for nothing"],
  [{ service: "slack", queryParams: undefined }, "headers", "not for slack"],
  [{ service: "pager" }, "service", "slack, incidentio, generic"],
  [{ colour: "red" }, "colour", "not a known member"],
])("a webhook with %j is refused", async (more, path, message) => {
  const { status, body, text } = await call("POST", "/webhooks", hook(more));
  expect([status, body.issues?.[0]?.path]).toEqual([400, path]);
  expect(body.message).toContain(message);
  expect(text).not.toContain("secret-");
});

test("a name is used once per service, and a webhook in use is not deleted", async () => {
  const { id, name } = await made("/webhooks", hook());
  expect((await call("POST", "/webhooks", hook({ name }))).body).toMatchObject({ issues: [{ path: "name" }] });
  const other = await made("/webhooks", hook());
  expect((await call("PUT", `/webhooks/${other.id}`, hook({ name }))).status).toBe(400);
  const alert = await made("/alerts", ofSearch({ channel: { type: "webhook", webhookId: id } }));
  const refused = await call("DELETE", `/webhooks/${id}`);
  expect([refused.status, refused.body.code]).toEqual([409, "CONFLICT"]);
  await call("DELETE", `/alerts/${alert.id}`);
  expect((await call("DELETE", `/webhooks/${id}`)).status).toBe(200);
});

test("an alert of states comes back whole, and names a pipe or service that exists", async () => {
  const { channel } = ofSearch();
  const body = {
    source: "state",
    metric: "pipe_attention",
    threshold: 1,
    thresholdType: "above",
    interval: "1m",
    channel,
  };
  const alert = await made("/alerts", { ...body, name: "Pipes", noData: "alert" });
  expect(alert).toMatchObject({ ...body, noData: "alert", state: "INSUFFICIENT_DATA" });
  expect((await call("PUT", `/alerts/${alert.id}`, alert)).body.data).toMatchObject({ ...body, version: 2 });
  const [{ id: serviceId }] = (await api.call("GET", "/v1/organizations/{o}/services")).body.result;
  const ofService = { ...body, metric: "backup_age_hours", serviceId };
  expect((await call("PUT", `/alerts/${alert.id}`, ofService)).body.data).toMatchObject(ofService);
  const none = "00000000-0000-4000-8000-000000000000";
  const refusals: [object, string, string][] = [
    [{ metric: undefined }, "metric", "is required for source state"],
    [{ metric: "rain" }, "metric", "pipe_attention"],
    [{ savedSearchId }, "savedSearchId", "is not for source state"],
    [{ serviceId: none }, "serviceId", `there is no service ${none}`],
    [{ pipeId: none }, "pipeId", `there is no pipe ${none}`],
    [{ metric: "backup_age_hours", pipeId: none }, "pipeId", "is for metrics of pipes"],
    [{ noData: "wait" }, "noData", "keep"],
  ];
  for (const [more, path, message] of refusals) {
    const { status, body: answer } = await call("POST", "/alerts", { ...body, ...more });
    expect([status, answer.issues?.[0]?.path], path).toEqual([400, path]);
    expect(answer.message).toContain(message);
  }
  expect((await call("POST", "/alerts", ofSearch({ metric: "pipe_attention" }))).status).toBe(400);
  // What keeps it in the store is shown in no list.
  expect((await api.call("GET", "/v1/organizations/{o}/savedObjects")).body.result).toEqual([]);
  await call("DELETE", `/alerts/${alert.id}`);
});

test("an alert comes back whole with its state, and may be sent back as it is", async () => {
  const body = ofSearch({ name: "Errors", message: "Look", note: "n", groupBy: "Service", scheduleOffsetMinutes: 2 });
  const alert = await made("/alerts", body);
  expect(alert).toMatchObject({
    ...{ ...body, source: "saved_search", enabled: true, state: "INSUFFICIENT_DATA", silenced: null, version: 1 },
    ...{ executionErrors: [], evaluatedUntil: null, teamId: api.organizationId },
  });
  const path = `/alerts/${alert.id}`;
  expect((await call("PUT", path, { ...alert, groupBy: null })).body.data).toMatchObject({ version: 2 });
  expect((await call("GET", path)).body.data).not.toHaveProperty("groupBy");
  const off = await call("PUT", path, { ...ofTile(), enabled: false }, { "if-match": "2" });
  expect(off.body.data).toMatchObject({ state: "DISABLED", source: "tile", tileId: "line" });
  expect((await call("PUT", path, ofTile(), { "if-match": "2" })).status).toBe(412);
  expect((await call("GET", `${path}/evaluations`)).body).toEqual({ data: [] });
  expect((await call("GET", "/alerts?limit=1")).body.meta).toMatchObject({ limit: 1, offset: 0 });
  expect((await call("DELETE", path)).status).toBe(200);
  expect((await call("GET", path)).status).toBe(404);
});

const nowhere = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

test.each([
  [() => ofSearch({ savedSearchId: nowhere }), "savedSearchId", "there is no saved search"],
  [() => ofSearch({ channel: { type: "webhook", webhookId: nowhere } }), "channel.webhookId", "there is no webhook"],
  [() => ofSearch({ channel: { type: "email", to: "a" } }), "channel.type", "webhook"],
  [() => ofSearch({ interval: "2m" }), "interval", "1m, 5m"],
  [() => ofSearch({ thresholdType: "over" }), "thresholdType", "above"],
  [() => ofSearch({ thresholdType: "between" }), "thresholdMax", "is required"],
  [() => ofSearch({ thresholdType: "between", thresholdMax: 1 }), "thresholdMax", "must not be below"],
  [() => ofSearch({ scheduleOffsetMinutes: 5 }), "scheduleOffsetMinutes", "shorter than interval"],
  [() => ofSearch({ tileId: "line" }), "tileId", "is not for source saved_search"],
  [() => ofSearch({ source: "inline" }), "source", "saved_search, tile"],
  [() => ofTile({ tileId: undefined }), "tileId", "is required for source tile"],
  [() => ofTile({ tileId: "other" }), "tileId", "there is no tile"],
  [() => ofTile({ tileId: "table" }), "tileId", "type table cannot be evaluated"],
  [() => ofTile({ dashboardId: nowhere }), "dashboardId", "there is no dashboard"],
  [() => ofSearch({ treshold: 1 }), "treshold", "did you mean threshold?"],
])("a wrong alert is refused by the path of the mistake: %#", async (make, path, message) => {
  const { status, body } = await call("POST", "/alerts", make());
  expect([status, body.issues?.[0]?.path]).toEqual([400, path]);
  expect(body.message).toContain(message);
});

test("alerts go with what they watch", async () => {
  const search = (await made("/saved-searches", { name: "s", sourceId })).id;
  const alert = await made("/alerts", ofSearch({ savedSearchId: search }));
  expect((await call("DELETE", `/saved-searches/${search}`)).status).toBe(200);
  expect((await call("GET", `/alerts/${alert.id}`)).status).toBe(404);
});

test("an alert whose tile is gone is disabled as it is, and enabled only with something that exists", async () => {
  const dashboard = await made("/dashboards", { name: "Shrinks", tiles });
  const { data: alert } = (await call("POST", "/alerts", ofTile({ dashboardId: dashboard.id }))).body;
  await call("PUT", `/dashboards/${dashboard.id}`, { name: "Shrinks", tiles: dashboard.tiles.slice(1) });
  const path = `/alerts/${alert.id}`;
  const off = await call("PUT", path, { ...alert, enabled: false });
  expect([off.status, off.body.data?.state]).toEqual([200, "DISABLED"]);
  const changed = await call("PUT", path, { ...alert, enabled: false, threshold: 11 });
  expect([changed.status, changed.body.issues?.[0]?.path]).toEqual([400, "tileId"]);
  expect((await call("PUT", path, alert)).body.issues?.[0]?.path).toBe("tileId");
  expect((await call("PUT", path, ofTile())).body.data).toMatchObject({ enabled: true, dashboardId });
});
