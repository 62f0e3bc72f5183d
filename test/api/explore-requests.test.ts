/** Validation of searches, field and value queries. */
import { expect, test } from "vitest";
import { exploreOperations, searchRequest } from "../../src/api/explore.ts";

const t0 = Date.UTC(2024, 4, 1);
const range = { startTime: t0, endTime: t0 + 1000 };
const { query: valuesQuery } = exploreOperations.listFieldValues;

const issues = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
  result.error?.issues.map(({ path }) => path.join(".")) ?? [];

test("a search is newest first, a hundred rows, and may wake the service", () => {
  const parsed = searchRequest.parse({ sourceId: "s", ...range });
  expect(parsed).toMatchObject({ order: "desc", limit: 100, where: "", whereLanguage: "lucene", wake: "auto" });
});

test.each([
  [{ limit: 0 }, "limit"],
  [{ limit: 1001 }, "limit"],
  [{ order: "up" }, "order"],
  [{ wake: "no" }, "wake"],
  [{ startTime: t0 + 5000 }, "endTime"],
  [{ endTime: 1_714_557_600 }, "endTime"],
  [{ maxResults: 5 }, ""],
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
