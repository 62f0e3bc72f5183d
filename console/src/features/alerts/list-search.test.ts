import { expect, test } from "vitest";
import type { Alert } from "./alert.ts";
import { listSearch, matchingAlerts } from "./list-search.ts";

const alerts = [
  { id: "0a", name: "Errors of web", state: "ALERT" },
  { id: "1b", name: "Slow", state: "OK" },
] as Alert[];
const found = (search: object) =>
  matchingAlerts(alerts, listSearch(search as Record<string, unknown>)).map(({ id }) => id);

test("alerts are found by a part of their name, the begin of their id, and their state", () => {
  expect(found({})).toEqual(["0a", "1b"]);
  expect(found({ q: "WEB " })).toEqual(["0a"]);
  expect(found({ q: 1 })).toEqual(["1b"]);
  expect(found({ state: "OK" })).toEqual(["1b"]);
  expect(found({ q: "slow", state: "ALERT" })).toEqual([]);
});

test("a state that does not exist filters nothing", () => {
  expect(listSearch({ state: "ok", q: "" })).toEqual({});
});
