/** Validation of searches, field and value queries. */
import { expect, test } from "vitest";
import { exploreOperations, searchRequest } from "../../src/api/explore.ts";
import { rowsRequestOf } from "../../src/charts/explore/rows-request.ts";
import { startApi } from "./harness.ts";

const t0 = Date.UTC(2024, 4, 1);
const range = { startTime: t0, endTime: t0 + 1000 };
const { query: valuesQuery } = exploreOperations.listFieldValues;

const issues = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
  result.error?.issues.map(({ path }) => path.join(".")) ?? [];

test("a search is newest first, a hundred rows, and may wake the service", () => {
  const parsed = searchRequest.parse({ sourceId: "s", ...range });
  expect(parsed).toMatchObject({ where: "", whereLanguage: "lucene", wake: "auto" });
  expect(rowsRequestOf(parsed, t0)).toMatchObject({ ...range, order: "desc", limit: 100, offset: 0, isPaged: true });
});

test("a search may have the form of the HyperDX API", () => {
  const sent = { startTime: "2024-05-01T00:00:00.000Z", endTime: "2024-05-01T01:00:00+01:00", orderBy: "n ASC" };
  const parsed = searchRequest.parse({ sourceId: "s", ...sent, maxResults: 2000, offset: 20 });
  expect(rowsRequestOf(parsed, 0)).toMatchObject({
    ...{ startTime: t0, endTime: t0, orderBy: "n", order: "asc", limit: 2000, offset: 20, isPaged: false },
  });
  const without = rowsRequestOf(searchRequest.parse({ sourceId: "s" }), t0);
  expect(without).toMatchObject({ startTime: t0 - 900_000, endTime: t0, isPaged: false });
});

test.each([
  ["n", undefined, "n", "desc"],
  ["lower(a) desc", undefined, "lower(a)", "desc"],
  ["a DESC", "asc", "a", "asc"],
  ["desc", undefined, "desc", "desc"],
  ["", undefined, undefined, "desc"],
] as const)("orderBy %j with order %j sorts by %j, %s", (orderBy, order, expression, direction) => {
  const parsed = searchRequest.parse({ sourceId: "s", orderBy, order });
  const { orderBy: by, order: how } = rowsRequestOf(parsed, t0);
  expect([by, how]).toEqual([expression, direction]);
});

test.each([
  [{ limit: 0 }, "limit"],
  [{ limit: 1001 }, "limit"],
  [{ order: "up" }, "order"],
  [{ wake: "no" }, "wake"],
  [{ startTime: t0 + 5000 }, "endTime"],
  [{ endTime: 1_714_557_600 }, "endTime"],
  [{ maxResults: 2001 }, "maxResults"],
  [{ maxResults: 5, limit: 5 }, "maxResults"],
  [{ offset: 10_001 }, "offset"],
  [{ offset: 1, cursor: "c" }, "offset"],
  [{ startTime: undefined, cursor: "c" }, "cursor"],
  [{ startTime: "yesterday" }, "startTime"],
  [{ groupBy: [] }, ""],
])("%j is refused", (extra, path) => {
  expect(issues(searchRequest.safeParse({ sourceId: "s", ...range, ...extra }))).toEqual([path]);
});

test("query parameters are numbers, both ends of a range or none", () => {
  const texts = { startTime: String(t0), endTime: String(t0 + 1000), limit: "5" };
  expect(valuesQuery.parse({ field: "f", ...texts })).toMatchObject({ ...range, limit: 5, wake: "auto", prefix: "" });
  expect(issues(valuesQuery.safeParse({ field: "f", startTime: texts.startTime }))).toEqual(["endTime"]);
  expect(issues(valuesQuery.safeParse({ field: "f", endTime: texts.endTime }))).toEqual(["startTime"]);
  expect(issues(valuesQuery.safeParse({ ...texts }))).toEqual(["field"]);
});

test("a source that nobody has is told with the member that names it", async () => {
  await using api = await startApi();
  const { accessToken } = (await api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } })).body
    .result;
  const issuesOf = async (method: string, path: string, body?: object) => {
    const answer = await api.call(method, `/api/v2${path}`, { auth: `Bearer ${accessToken}`, ...(body && { body }) });
    expect(answer.status).toBe(404);
    return answer.body.issues.map(({ path: at }: { path: string }) => at);
  };
  const item = { sourceId: "s", aggFn: "count", where: "", groupBy: [] };
  const chart = { ...range, series: [item] };
  expect(await issuesOf("POST", "/charts/series", chart)).toEqual(["series.0.sourceId"]);
  expect(await issuesOf("POST", "/charts/query", chart)).toEqual(["series.0.sourceId"]);
  expect(await issuesOf("POST", "/search", { sourceId: "s", ...range })).toEqual(["sourceId"]);
  expect(await issuesOf("GET", `/sources/s/fields?startTime=${t0}&endTime=${t0 + 1}`)).toEqual(["id"]);
});
