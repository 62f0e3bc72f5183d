/**
 * Backups in a directory. Folders are private to their owner; writes are synced before they are reported. Files are
 * copies: an engine host that is in the hands of an attacker may have those of its own folder open for writing.
 */
import { constants, createReadStream } from "node:fs";
import { copyFile, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Readable } from "node:stream";
import { makeFolder } from "../../lib/make-folder.ts";
import type { BackupLocation } from "../../store/backups/backups.ts";
import { type BackupStorage, MissingFile, type StoredFile } from "./storage.ts";

export class LocalStorage implements BackupStorage {
  readonly location: BackupLocation;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    this.location = { kind: "local", root };
  }

  async putFile(key: string, path: string): Promise<void> {
    const target = this.pathOf(key);
    makeFolder(dirname(target));
    await copyFile(path, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await sync(target);
  }

  async settle(folder: string): Promise<void> {
    const top = this.pathOf(folder);
    const entries = await readdir(top, { recursive: true, withFileTypes: true });
    for (const entry of entries) if (entry.isDirectory()) await sync(join(entry.parentPath, entry.name));
    for (let at = top; at.length >= this.#root.length && at !== dirname(at); at = dirname(at)) await sync(at);
  }

  async putWhole(key: string, bytes: Buffer): Promise<void> {
    const target = this.pathOf(key);
    makeFolder(dirname(target));
    const file = await open(`${target}.new`, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${target}.new`, target);
    await sync(dirname(target));
  }

  async read(key: string): Promise<Readable> {
    const path = this.pathOf(key);
    await stat(path).catch((cause) => {
      throw cause.code === "ENOENT" || cause.code === "ENOTDIR" ? new MissingFile(key) : cause;
    });
    return createReadStream(path, { highWaterMark: 1_048_576 });
  }

  async list(prefix: string): Promise<StoredFile[]> {
    const top = this.pathOf(prefix);
    const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(orNothing);
    const files: StoredFile[] = [];
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const { size, mtime } = await stat(path);
      files.push({ key: relative(this.#root, path), size, modifiedAt: mtime });
    }
    return files;
  }

  async removeAll(prefix: string): Promise<void> {
    await rm(this.pathOf(prefix), { recursive: true, force: true, maxRetries: 3 });
  }

  async remove(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  pathOf(key: string): string {
    const path = join(this.#root, key);
    // Keys come from manifests, which anybody with write access to the location can change.
    if (relative(this.#root, path).startsWith("..")) throw new Error(`${key} leads out of the backup directory`);
    return path;
  }
}

function orNothing(error: NodeJS.ErrnoException): [] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}
