/** What an engine host in the hands of an attacker can do to local backups: it has its own folder open for writing. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { LocalStorage } from "../storage/local-storage.ts";
import { FileWorker } from "./file-worker.ts";
import { fetchFile, storeFolder } from "./files.ts";

const worker = new FileWorker();
const dir = mkdtempSync(join(tmpdir(), "millrace-files-"));
const [staging, backups] = [join(dir, "staging"), join(dir, "backups")];
const { signal } = new AbortController();

beforeEach(() => {
  for (const path of [staging, backups]) {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path);
  }
});
afterAll(async () => {
  await worker.close();
  rmSync(dir, { recursive: true, force: true });
});

const contents = "part of a table".repeat(1_000);

test.each([
  ["plain", undefined],
  ["encrypted", Buffer.alloc(32, 7)],
])("a stored file is out of its reach, also by an open descriptor: %s", async (_, encryptionKey) => {
  const transfer = { storage: new LocalStorage(backups), worker, encryptionKey };
  const own = join(staging, "data.bin");
  writeFileSync(own, contents);
  const open = openSync(own, "r+");
  const files = await storeFolder(transfer, staging, { folder: "a/", backupId: "b" }, () => {}, signal);
  expect(readdirSync(staging)).toEqual([]);
  writeSync(open, "HOSTILE", 0);
  closeSync(open);

  const [file] = files;
  if (file === undefined) throw new Error("nothing was stored");
  const target = join(staging, "restored.bin");
  await fetchFile(transfer, "a/", { id: "b" }, file, target, signal);
  expect(readFileSync(target, "utf8")).toBe(contents);
  // Nor by the file that it restores from.
  writeFileSync(target, "HOSTILE");
  await fetchFile(transfer, "a/", { id: "b" }, file, join(staging, "again.bin"), signal);
  expect(readFileSync(join(staging, "again.bin"), "utf8")).toBe(contents);
});
