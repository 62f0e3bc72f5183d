/** Saved searches and dashboards of the observability API: kept whole, or refused by name. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let auth: string;
let serviceId: string;
let sourceId: string;

beforeAll(async () => {
  api = await startApi({ limits: { ...limits, savedObjects: { most: 20, setting: "--saved-objects" } } });
  const { body } = await api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  auth = `Bearer ${body.result.accessToken}`;
  serviceId = (await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } })).body.result.service
    .id;
  const from = { databaseName: "default", tableName: "logs" };
  const source = { name: "logs", kind: "log", serviceId, from, timestampValueExpression: "t" };
  sourceId = (await call("POST", "/sources", source)).body.data.id;
});
afterAll(() => api[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  api.call(method, `/api/v2${path}`, { auth, headers, ...(body && { body }) });

const line = (more: object = {}) => ({
  ...{ displayType: "line", sourceId, groupBy: "Service" },
  select: [{ aggFn: "quantile", level: 0.95, valueExpression: "Duration", alias: "p95", where: "a:b" }],
  ...more,
});
const at = { name: "Tile", x: 0, y: 0, w: 6, h: 3 };
const dashboardOf = (config: object, more: object = {}) => ({ name: "Overview", tiles: [{ ...at, config }], ...more });

test("a saved search comes back whole, with defaults, and is replaced and deleted", async () => {
  const search = {
    ...{ name: "Errors", sourceId, where: "level:error", orderBy: "t DESC", tags: ["a"], select: "t, m" },
    filters: [
      { type: "sql", condition: "a = 1" },
      { type: "sql_ast", operator: "=", left: "a", right: "1" },
    ],
  };
  const { data } = (await call("POST", "/saved-searches", search)).body;
  expect(data).toMatchObject({ ...search, whereLanguage: "lucene", version: 1 });
  const path = `/saved-searches/${data.id}`;
  expect((await call("GET", path)).body.data).toEqual(data);
  const { id, createdAt, version, ...same } = data;
  expect((await call("PUT", path, { ...data, name: "All" })).body.data).toMatchObject({
    ...same,
    ...{ id, createdAt, name: "All", version: version + 1, updatedAt: expect.any(String) },
  });
  expect((await call("DELETE", path)).body).toEqual({});
  expect((await call("GET", path)).status).toBe(404);
  expect((await call("PUT", path, search)).status).toBe(404);
});

test("lists are pages with their total, oldest first", async () => {
  const before = (await call("GET", "/saved-searches")).body.meta.total;
  for (const name of ["one", "two", "three"]) await call("POST", "/saved-searches", { name, sourceId });
  const { body } = await call("GET", `/saved-searches?limit=2&offset=${before + 1}`);
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(["two", "three"]);
  expect(body.meta).toEqual({ total: before + 3, limit: 2, offset: before + 1 });
});

test("a dashboard comes back whole; tiles and filters without an id get one, others keep theirs", async () => {
  const sql = { configType: "sql", displayType: "table", connectionId: serviceId, sqlTemplate: "SELECT 1" };
  const series = [{ type: "time", sourceId, aggFn: "count", where: "", whereLanguage: "lucene", groupBy: [] }];
  const body = {
    ...{ name: "Overview", tags: ["web"], savedQuery: "a:b", savedQueryLanguage: "lucene" },
    tiles: [
      { ...at, config: line({ fillNulls: true, numberFormat: { output: "time", mantissa: 2 } }), containerId: "c" },
      { ...at, config: line({ where: "a:b", whereLanguage: "lucene" }) },
      { ...at, id: "mine", config: sql },
      { ...at, series, asRatio: false },
      { ...at, config: { displayType: "markdown", markdown: "# Text" } },
    ],
    filters: [{ type: "QUERY_EXPRESSION", name: "Service", expression: "Service", sourceId }],
    savedFilterValues: [{ type: "sql", condition: "a IN ('b')" }],
    containers: [{ id: "c", title: "Group", collapsed: false }],
  };
  const { data } = (await call("POST", "/dashboards", body)).body;
  expect(data).toMatchObject(body);
  expect(data.tiles.map(({ id }: { id: string }) => id)).toEqual([
    ...[expect.stringMatching(/^[0-9a-f-]{36}$/), expect.any(String), "mine"],
    ...[expect.any(String), expect.any(String)],
  ]);
  expect(data.filters[0].id).toEqual(expect.any(String));
  const again = (await call("PUT", `/dashboards/${data.id}`, data)).body.data;
  expect(again).toEqual({ ...data, version: 2, updatedAt: expect.any(String) });
});

test("a change of another version is refused, and so is its deletion", async () => {
  const { data } = (await call("POST", "/dashboards", dashboardOf(line()))).body;
  const path = `/dashboards/${data.id}`;
  expect((await call("PUT", path, data, { "if-match": "7" })).status).toBe(412);
  expect((await call("PUT", path, data, { "if-match": "1" })).status).toBe(200);
  expect((await call("DELETE", path, undefined, { "if-match": "1" })).status).toBe(412);
  expect((await call("DELETE", path, undefined, { "if-match": "2" })).status).toBe(200);
});

const nowhere = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

test.each([
  [() => dashboardOf(line({ colour: "red" })), "tiles.0.config.colour", "is not a known member"],
  [() => dashboardOf(line({ sourceId: nowhere })), "tiles.0.config.sourceId", "there is no source"],
  [() => dashboardOf(line({ displayType: "lines" })), "tiles.0.config.displayType", ""],
  [() => dashboardOf(line({ configType: "promql" })), "tiles.0.config.configType", "must be sql"],
  [() => dashboardOf(line({ asRatio: true })), "tiles.0.config.asRatio", "exactly 2"],
  [() => dashboardOf(line({ select: [{ aggFn: "sum" }] })), "tiles.0.config.select.0.valueExpression", "required"],
  [() => dashboardOf({ displayType: "table", configType: "sql", sqlTemplate: "" }), "tiles.0.config.connectionId", ""],
  [() => ({ name: "a", tiles: [{ ...at }] }), "tiles.0.config", "is required"],
  [() => ({ name: "a", tiles: [{ ...at, x: 24, config: line() }] }), "tiles.0.x", ""],
  [() => ({ name: "a", tiles: [{ ...at, containerId: "c", config: line() }] }), "tiles.0.containerId", "no container"],
  [() => ({ name: "a", tiles: [1, 2].map(() => ({ ...at, id: "t", config: line() })) }), "tiles", "twice"],
  [() => ({ tiles: [] }), "name", "required"],
  [() => ({ name: "a\nb", tiles: [] }), "name", "control characters"],
])("a wrong dashboard is refused by the path of the mistake, and told by validate: %#", async (make, path, text) => {
  const body = make();
  const refused = await call("POST", "/dashboards", body);
  expect(refused.status).toBe(400);
  expect(refused.body.issues).toEqual([{ path, message: expect.stringContaining(text) }]);
  const { status, body: checked } = await call("POST", "/dashboards/validate", body);
  expect([status, checked]).toEqual([200, { valid: false, errors: refused.body.issues, normalized: null }]);
});

test("validate saves nothing", async () => {
  const { total } = (await call("GET", "/dashboards")).body.meta;
  const { body } = await call("POST", "/dashboards/validate", dashboardOf(line()));
  expect(body).toMatchObject({ valid: true, errors: [], normalized: { name: "Overview", filters: [] } });
  expect((await call("GET", "/dashboards")).body.meta.total).toBe(total);
});

test("they are not saved objects of the management API, but count as such", async () => {
  const { data } = (await call("POST", "/saved-searches", { name: "search", sourceId })).body;
  const path = "/v1/organizations/{o}/savedObjects";
  expect((await api.call("GET", path)).body.result).toEqual([]);
  expect((await api.call("GET", `${path}/${data.id}`)).status).toBe(404);
  expect((await api.call("DELETE", `${path}/${data.id}`)).status).toBe(404);
  const answers = [];
  for (let i = 0; i < 20; i += 1) answers.push(await call("POST", "/saved-searches", { name: "n", sourceId }));
  expect(answers.at(-1)?.body).toMatchObject({ code: "LIMIT_REACHED" });
});
