import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

test("a folder is made with those above it, for this user alone, and may exist", () => {
  const root = mkdtempSync(join(tmpdir(), "millrace-make-folder-"));
  const path = join(root, "a", "b", "c");
  makeFolder(path);
  makeFolder(path);
  expect((statSync(path).mode & 0o777).toString(8)).toBe("700");
  writeFileSync(join(root, "file"), "");
  expect(() => makeFolder(join(root, "file"))).toThrow("EEXIST");
  expect(() => makeFolder(join(root, "file", "below"))).toThrow("ENOTDIR");
  rmSync(root, { recursive: true });
});

test.skipIf(!existsSync("/proc/self"))("a file system that takes no folders refuses at once", () => {
  expect(() => makeFolder("/proc/millrace/folder")).toThrow("ENOENT");
});
