import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { removeFolder } from "./files.ts";

const house = mkdtempSync(join(tmpdir(), "millrace-files-"));
afterAll(() => rmSync(house, { recursive: true, force: true }));

/** A folder with a file below a path of more than 8000 bytes, built from the bottom. */
function deepFolder(name: string): string {
  const path = join(house, name);
  mkdirSync(path);
  writeFileSync(join(path, "file"), "");
  for (let level = 0; level < 40; level += 1) {
    renameSync(path, join(house, "lower"));
    mkdirSync(path);
    renameSync(join(house, "lower"), join(path, "d".repeat(200)));
  }
  return path;
}

test("a folder is removed with paths that are too long for the kernel, and no link is followed", async () => {
  const path = deepFolder("deep");
  const kept = join(house, "kept");
  mkdirSync(kept);
  writeFileSync(join(kept, "file"), "");
  symlinkSync(kept, join(path, "link"));
  await removeFolder(path);
  expect(existsSync(path)).toBe(false);
  expect(existsSync(join(kept, "file"))).toBe(true);
});

test("a missing folder is no error", async () => {
  await removeFolder(join(house, "missing"));
});
