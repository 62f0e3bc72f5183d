import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { outOfUseIn, takeOutOfUse } from "./unloadable.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-unloadable-"));
const metadata = join(dir, "metadata", "default");
mkdirSync(metadata, { recursive: true });
writeFileSync(join(metadata, "rows.sql"), "ATTACH TABLE _ UUID '...'");

afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  "Code: 241. DB::Exception: (total) memory limit exceeded: would use 900.00 MiB",
  "Code: 439. DB::Exception: Cannot schedule a task: no free thread",
  "Code: 76. DB::ErrnoException: Cannot open file <data>/store/a/columns.txt: , errno: 24, strerror: Too many open files",
  "Code: 481. DB::ErrnoException: Cannot create directory: , errno: 28, strerror: No space left on device",
])("a table that an engine cannot load for lack of something stays in use: %s", (reason) => {
  takeOutOfUse(dir, `default.rows' failed: ${reason}: Cannot attach table default.rows from ATTACH`);
  expect(outOfUseIn(dir)).toEqual([]);
});

test("a table whose definition or data cannot be read is out of use with the reason", () => {
  const reason = "Code: 107. DB::ErrnoException: Cannot open file <data>/a: , errno: 2, strerror: No such file";
  takeOutOfUse(dir, `default.rows' failed: ${reason}: Cannot attach table default.rows from ATTACH`);
  expect(outOfUseIn(dir)).toEqual([{ database: "default", name: "rows", reason }]);
});
