import { expect, test } from "vitest";
import type { Alert } from "./alert.ts";
import { ownSubject } from "./watched.ts";

const ofSearch = { id: "a", source: "saved_search", savedSearchId: "s" } as Alert;
const ofTile = { id: "b", source: "tile", dashboardId: "one", tileId: "t" } as Alert;
const tiles = (count: number) => new Array(count).fill({ id: "t" });
const known = {
  searches: [{ id: "s" }],
  dashboards: [
    { id: "one", tiles: tiles(1) },
    { id: "two", tiles: tiles(2) },
  ],
} as never;

test("a saved search or a single tile that no other alert watches may go with its alert", () => {
  expect(ownSubject(ofSearch, [ofSearch, ofTile], known)).toEqual({ kind: "saved search", object: { id: "s" } });
  expect(ownSubject(ofTile, [ofSearch, ofTile], known)).toMatchObject({ kind: "tile", object: { id: "one" } });
});

test("what another alert watches, a dashboard with other tiles, and what is not known stay", () => {
  expect(ownSubject(ofSearch, [ofSearch, { ...ofSearch, id: "c" }], known)).toBeUndefined();
  expect(ownSubject(ofTile, [ofTile, { ...ofTile, id: "c", tileId: "other" }], known)).toBeUndefined();
  expect(ownSubject({ ...ofTile, dashboardId: "two" }, [], known)).toBeUndefined();
  expect(ownSubject({ ...ofSearch, savedSearchId: "gone" }, [], known)).toBeUndefined();
  expect(ownSubject(ofSearch, undefined, known)).toBeUndefined();
});
