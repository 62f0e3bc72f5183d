import { expect, test } from "vitest";
import { listSearch } from "./list-search.ts";

test("a link that names a state filters by its group, and a word that is none is left out", () => {
  expect(listSearch({ state: "trouble" })).toEqual({ state: "trouble" });
  expect(listSearch({ state: "Running" })).toEqual({ state: "running" });
  expect(listSearch({ state: "Snapshot" })).toEqual({ state: "changing" });
  expect(listSearch({ state: "Degraded" })).toEqual({ state: "trouble" });
  expect(listSearch({ state: "bogus" })).toEqual({});
});
