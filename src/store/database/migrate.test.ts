import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "./database.ts";
import { type MigrationStep, migrationFolder, missingMigrations } from "./migrate.ts";

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

test("a migration of a newer version refuses an older one only if it is breaking", () => {
  opened();
  const next = join(folder, "300-more.sql");
  writeFileSync(next, "-- Only adds.\nCREATE TABLE more (a INTEGER);");
  opened();
  rmSync(next);
  expect(opened()).toEqual([]);

  const breaking = join(folder, "301-less.sql");
  writeFileSync(
    breaking,
    "-- Nothing reads it since version 9.\n-- breaking: versions before 9 read it.\nDROP TABLE one;",
  );
  opened();
  expect(opened()).toEqual([]);
  rmSync(breaking);
  expect(() => opened()).toThrow(/newer version .* \(migration 301\).* start the newer version/);
});

test("what was applied before migrations said whether they are breaking counts as breaking", () => {
  const db = new DatabaseSync(join(folder, "millrace.db"));
  db.exec("CREATE TABLE migrations (id INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)");
  db.exec("INSERT INTO migrations VALUES (1, ''), (2, '')");
  db.close();
  expect(() => opened()).toThrow(/migration 2\)/);
  writeFileSync(join(folder, "002-second.sql"), "");
  expect(opened()).toEqual([]);
});

test("a file that replaces earlier ones is for new databases, and one in between is refused", () => {
  opened();
  writeFileSync(join(folder, "002-last.sql"), "CREATE TABLE two (a INTEGER);");
  opened();
  rmSync(join(folder, "001-first.sql"));
  rmSync(join(folder, "002-last.sql"));
  const whole = "-- replaces: 2\n-- breaking: all.\nCREATE TABLE one (a INTEGER); CREATE TABLE two (a INTEGER);";
  writeFileSync(join(folder, "300-schema.sql"), whole);
  expect(opened()).toEqual([]);
  writeFileSync(join(folder, "301-more.sql"), "CREATE TABLE more (a INTEGER);");
  expect(opened()).toEqual([{ name: "301-more", number: 1, of: 1 }]);
  rmSync(join(folder, "millrace.db"));
  expect(opened()).toEqual([]);
  expect(opened()).toEqual([]);
  const db = new DatabaseSync(join(folder, "millrace.db"));
  db.exec("DELETE FROM migrations WHERE id = 300; INSERT INTO migrations (id, applied_at) VALUES (1, '')");
  db.close();
  expect(() => opened()).toThrow(/before migration 2, .* start a version with the migrations up to 2 first/);
});

test("a migration that takes something from earlier versions says so", () => {
  const takes = /\b(DROP (TABLE|COLUMN|CONSTRAINT)|RENAME (TO|COLUMN)|SET NOT NULL)\b/i;
  const silent = missingMigrations(migrationFolder, []).filter(
    ({ sql, isBreaking }) => takes.test(sql) && isBreaking === 0,
  );
  expect(silent.map(({ file }) => file)).toEqual([]);
});
