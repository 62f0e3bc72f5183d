/** Which names a request for a pipe may give its table, whatever the source. */
import { expect, test } from "vitest";
import { createPipeBody } from "./pipes.ts";

const pathsOf = (destination: object, source: object = { push: {} }) =>
  createPipeBody.safeParse({ name: "p", source, destination }).error?.issues.map(({ path }) => path.join("."));

test("a pipe fills no database of the engine, and no table that no statement may name", () => {
  expect(pathsOf({ database: "system", table: "t" })).toEqual(["destination.database"]);
  expect(pathsOf({ database: "INFORMATION_SCHEMA" }, { push: { format: "otlp" } })).toEqual(["destination.database"]);
  expect(pathsOf({ database: "../x", table: "/x" })).toEqual(["destination.database", "destination.table"]);
  expect(pathsOf({ database: "d", table: "t" })).toBeUndefined();
});
