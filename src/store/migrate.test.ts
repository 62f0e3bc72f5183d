import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "./database.ts";
import type { MigrationStep } from "./migrate.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-migrations-"));
  writeFileSync(join(folder, "001-first.sql"), "CREATE TABLE one (a INTEGER);");
});
afterEach(() => rmSync(folder, { recursive: true }));

function opened(slowMs = Number.POSITIVE_INFINITY): MigrationStep[] {
  const steps: MigrationStep[] = [];
  openDatabase(join(folder, "millrace.db"), { folder, slowMs, onStep: (step) => steps.push(step) }).close();
  return steps;
}

test("a new database has no steps to tell", () => expect(opened()).toEqual([]));

test("an older one tells each missing step before it begins, once", () => {
  opened();
  writeFileSync(join(folder, "002-second.sql"), "CREATE TABLE two (a INTEGER);");
  writeFileSync(join(folder, "010-third.sql"), "CREATE TABLE three (a INTEGER);");
  expect(opened()).toEqual([
    { name: "002-second", number: 1, of: 2 },
    { name: "010-third", number: 2, of: 2 },
  ]);
  expect(opened()).toEqual([]);
});

test("a slow step tells its duration at its end", () => {
  opened();
  writeFileSync(join(folder, "002-second.sql"), "CREATE TABLE two (a INTEGER);");
  expect(opened(0)).toEqual([
    { name: "002-second", number: 1, of: 1 },
    { name: "002-second", number: 1, of: 1, tookMs: expect.any(Number) },
  ]);
});
