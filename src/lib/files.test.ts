import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { removeFolder, writeAll } from "./files.ts";

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

test("a missing folder is not an error", async () => {
  await removeFolder(join(house, "missing"));
});

test("a disk that takes three bytes at a time gets all of them, and one that takes no more is an error", async () => {
  const path = join(house, "pieces");
  await using file = await open(path, "w");
  const pieces = ["ab", "cdefg", "h"].map((text) => Buffer.from(text));
  const slow = {
    writev: async (rest: readonly Uint8Array[], position?: number) => {
      const bytes = Buffer.concat(rest).subarray(0, 3);
      return { bytesWritten: (await file.write(bytes, 0, bytes.length, position)).bytesWritten, buffers: [...rest] };
    },
  };
  await writeAll(slow as never, pieces, 2);
  expect((await readFile(path)).toString()).toBe("\0\0abcdefgh");
  const full = { writev: async () => Promise.reject(new Error("ENOSPC")) };
  await expect(writeAll(full, pieces, 0)).rejects.toThrow("ENOSPC");
});
