/** Validation of chart requests: misspelt members are refused, each mistake is reported once. */
import { expect, test } from "vitest";
import { chartQuery, seriesRequest, unknownMembersOf } from "../../src/api/charts.ts";

const t0 = Date.UTC(2024, 4, 1);
const request = (extra: object = {}, item: object = {}) => ({
  ...{ startTime: t0, endTime: t0 + 3_600_000 },
  ...extra,
  series: [{ sourceId: "s", aggFn: "count", where: "", groupBy: [], ...item }],
});
const issues = (body: object, schema: typeof seriesRequest | typeof chartQuery = seriesRequest) =>
  schema.safeParse(body).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

test.each([
  [request({ granulariti: "1h" }), "granulariti: is not a known member; did you mean granularity?"],
  [request({ timeZone: "UTC" }), "timeZone: is not a known member; did you mean timezone?"],
  [request({}, { groupby: [] }), "series.0.groupby: is not a known member; did you mean groupBy?"],
  [request({}, { wherelanguage: "sql" }), "series.0.wherelanguage: is not a known member; did you mean whereLanguage?"],
  [request({}, { fild: "n" }), "series.0.fild: is not a known member; did you mean field?"],
  [request({ orderBy: "group" }), "orderBy: is a member of POST /api/v2/charts/query"],
])("a misspelt member is refused with the one that was meant", (body, issue) => {
  expect(issues(body)).toEqual([issue]);
});

test("members of other clients are let through and can be told of", () => {
  const body = request({ displayType: "line" }, { dataSource: "events", sortOrder: "desc" });
  expect(issues(body)).toEqual([]);
  expect(unknownMembersOf(chartQuery.parse(body))).toEqual([
    "displayType",
    "series.0.dataSource",
    "series.0.sortOrder",
  ]);
});

test("one mistake is told once", () => {
  expect(issues({ ...request(), endTime: 1_700_000_000 })).toEqual(["endTime: Timestamp must be in milliseconds"]);
  expect(issues({ ...request({ seriesReturnType: "ratio" }), series: [] })).toEqual([
    "series: Series array cannot be empty",
  ]);
});

test.each([
  [{ order: "asc" }, "order: needs orderBy"],
  [{ orderBy: "series_0" }, "orderBy: needs granularity none"],
  [{ orderBy: "series_1", granularity: "none" }, "orderBy: the request has no series_1"],
  [{ others: true }, "others: needs a limit"],
  [{ others: true, limit: 3, formula: "series_0" }, "others: is not available with a ratio or a formula"],
])("%j needs more", (extra, issue) => {
  expect(issues(request(extra), chartQuery)).toEqual([expect.stringContaining(issue)]);
});
