import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StatementMarks, StatementMarksReader } from "./statement-marks.ts";

test("the beginning of a statement outlives the run directory, and shows no text in quotes", () => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-marks-"));
  const marks = new StatementMarks(dir);
  const reader = new StatementMarksReader(dir);
  marks.set(3, Buffer.from("SELECT *\n  FROM s3('http://x', 'KEY', 'it''s \\' SECRET') WHERE a = 1"));
  marks.set(4, Buffer.from("SELECT 'an open quote hides SECRET"));
  marks.set(5, Buffer.from("SELECT $a$SECRET$a$"));
  marks.set(6, Buffer.from(`SELECT ${"é".repeat(1_000)}`));
  rmSync(dir, { recursive: true });
  expect(reader.get(3)).toBe("SELECT * FROM s3('...', '...', '...') WHERE a = 1");
  expect([reader.get(4), reader.get(5)]).toEqual(["SELECT '...'", "SELECT $..."]);
  expect(reader.get(6).length).toBeGreaterThan(50);
  expect([reader.get(2), reader.get(1_999)]).toEqual(["", ""]);
  reader.close();
});
