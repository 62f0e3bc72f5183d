import { expect, test } from "vitest";
import { serviceListSearch, shownServices } from "./list-search.ts";
import type { Service } from "./service.ts";

const service = (name: string, more: Partial<Service> = {}) =>
  ({ id: `${name.toLowerCase()}-id`, name, state: "running", tags: [], ...more }) as Service;

test("an address says only filters and orders that exist", () => {
  expect(serviceListSearch({ q: "a", state: "idle", sort: "rows", order: "desc", other: 1 })).toEqual({
    ...{ q: "a", state: "idle", sort: "rows", order: "desc" },
  });
  expect(serviceListSearch({ q: { a: 1 }, sort: "password", order: "up" })).toEqual({});
  // The router reads digits as a number.
  expect(serviceListSearch({ q: 123 })).toEqual({ q: "123" });
});

test("the text is found in names, ids and tags, and unknown numbers come first in ascending order", () => {
  const all = [
    service("Web", { rows: 5 }),
    service("api", { tags: [{ key: "team", value: "Web" }] }),
    service("Other", { rows: 1 }),
  ];
  expect(shownServices(all, { q: "web" }).map(({ name }) => name)).toEqual(["api", "Web"]);
  expect(shownServices(all, { q: "other-i" }).map(({ name }) => name)).toEqual(["Other"]);
  expect(shownServices(all, { sort: "rows" }).map(({ name }) => name)).toEqual(["api", "Other", "Web"]);
  expect(shownServices(all, { sort: "rows", order: "desc" }).map(({ name }) => name)).toEqual(["Web", "Other", "api"]);
});
