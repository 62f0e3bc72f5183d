/** Which names a pipe's table may have. */
import { expect, test } from "vitest";
import { databaseNameProblem, ownDatabases, tableNameProblem } from "./names.ts";

test.each([...ownDatabases, "_temporary_and_external_tables"])("%s is not a database for tables of pipes", (name) => {
  expect(databaseNameProblem(name)).toMatch(/^must not be/);
  expect(tableNameProblem(name)).toBeUndefined();
});

test.each(["/etc/x", "../../x", "a/../b", "./x", "{a,/etc/x}"])("%s is not a name: it may be a file", (name) => {
  expect(databaseNameProblem(name)).toMatch(/path of a file/);
  expect(tableNameProblem(name)).toMatch(/path of a file/);
});

test.each(["default", "a/b", "a.b", "a b", "{a}", "System"])("%s is a name", (name) => {
  expect(databaseNameProblem(name)).toBeUndefined();
  expect(tableNameProblem(name)).toBeUndefined();
});
