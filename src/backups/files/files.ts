/** Moves the files of a backup between an engine's folder and the storage, and verifies them. */

import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { copyFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { eachOf } from "../../lib/limiter.ts";
import { type BackupStorage, MissingFile } from "../storage/storage.ts";
import type { FileFacts } from "./file-work.ts";
import type { FileWorker } from "./file-worker.ts";
import { backupKey, type Manifest, type ManifestFile } from "./manifest.ts";

const parallelFiles = 6;

export const filesFolder = "files/";

export type FileTransfer = {
  readonly storage: BackupStorage;
  readonly worker: FileWorker;
  /** The installation's key; undefined: not encrypted. */
  readonly encryptionKey: Buffer | undefined;
};

/** A file of a backup that is missing, or whose size or bytes differ from the manifest. */
export class DamagedFile extends Error {
  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(`${file} ${reason}`, options);
    this.name = "DamagedFile";
  }
}

/** Stores everything below `source` in the backup's folder, and removes it. */
export async function storeFolder(
  transfer: FileTransfer,
  source: string,
  target: { folder: string; backupId: string },
  onStored: (bytes: number) => void,
  signal: AbortSignal,
): Promise<ManifestFile[]> {
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const key = transfer.encryptionKey && backupKey(transfer.encryptionKey, target.backupId);
  const files: ManifestFile[] = [];
  await eachOf(paths.entries(), parallelFiles, async ([index, path]) => {
    signal.throwIfAborted();
    const name = relative(source, path);
    // Names of databases and tables are confidential too: encrypted files are numbered.
    const stored = filesFolder + (key === undefined ? name : String(index).padStart(8, "0"));
    const facts = await storeFile(transfer, path, { key, stored, at: target.folder + stored }, signal);
    files.push({ path: name, stored, ...facts });
    onStored(facts.size);
  });
  await transfer.storage.settle(target.folder);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Stores one file, and removes it. */
async function storeFile(
  { storage, worker }: FileTransfer,
  path: string,
  { key, stored, at }: { key: Buffer | undefined; stored: string; at: string },
  signal: AbortSignal,
): Promise<FileFacts> {
  const whole = key === undefined ? path : `${path}.sealed`;
  const sealed = key && (await worker.seal(path, whole, key, stored));
  const facts = sealed ?? (storage.pathOf(at) === undefined ? await worker.hash(path) : undefined);
  await storage.putFile(at, whole, signal);
  for (const file of new Set([path, whole])) await rm(file);
  // A local copy: nobody but this program can have written what is read here.
  return facts ?? (await worker.hash(storage.pathOf(at) as string));
}

/** Writes one decrypted file to `target`. Throws `DamagedFile` unless its bytes match the manifest. */
export async function fetchFile(
  transfer: FileTransfer,
  folder: string,
  manifest: Pick<Manifest, "id">,
  file: ManifestFile,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const local = transfer.storage.pathOf(folder + file.stored);
  const source = local ?? `${target}.fetched`;
  if (local === undefined) await download(transfer.storage, folder + file.stored, source, signal);
  const problem = await fileProblem(transfer.worker, source, file);
  if (problem !== undefined) throw new DamagedFile(folder + file.stored, problem);
  if (transfer.encryptionKey !== undefined) {
    await transfer.worker
      .unseal(source, target, backupKey(transfer.encryptionKey, manifest.id), file.stored)
      .catch((cause) => {
        throw new DamagedFile(folder + file.stored, "cannot be decrypted", { cause });
      });
  } else await copyFile(source, target, constants.COPYFILE_FICLONE);
  if (local === undefined) await rm(source, { force: true });
}

/** The fault of a stored file, as the rest of a sentence that begins with its name. */
export async function storedProblem(
  transfer: FileTransfer,
  key: string,
  file: ManifestFile,
  signal: AbortSignal,
): Promise<string | undefined> {
  const local = transfer.storage.pathOf(key);
  if (local !== undefined) return await fileProblem(transfer.worker, local, file);
  try {
    const digest = createHash("sha256");
    let size = 0;
    for await (const chunk of await transfer.storage.read(key, signal)) {
      digest.update(chunk as Buffer);
      size += (chunk as Buffer).length;
    }
    return factsProblem({ size, sha256: digest.digest("hex") }, file);
  } catch (error) {
    if (error instanceof MissingFile) return "is missing";
    throw error;
  }
}

async function fileProblem(worker: FileWorker, path: string, file: ManifestFile): Promise<string | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
  });
  if (found === undefined) return "is missing";
  if (found.size !== file.size) return `has ${found.size} bytes instead of ${file.size}`;
  return factsProblem(await worker.hash(path), file);
}

function factsProblem(facts: FileFacts, file: ManifestFile): string | undefined {
  if (facts.size !== file.size) return `has ${facts.size} bytes instead of ${file.size}`;
  return facts.sha256 === file.sha256 ? undefined : "has other bytes than were stored (checksum)";
}

async function download(storage: BackupStorage, key: string, target: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(await storage.read(key, signal), createWriteStream(target, { mode: 0o600 }), { signal });
  } catch (error) {
    if (error instanceof MissingFile) throw new DamagedFile(key, "is missing", { cause: error });
    throw error;
  }
}

/** Copies whatever is readable without verifying it, for a forced restore. */
export const fetchUnchecked: typeof fetchFile = async (transfer, folder, manifest, file, target, signal) => {
  await fetchFile(transfer, folder, manifest, file, target, signal).catch(async (error) => {
    if (!(error instanceof DamagedFile) || transfer.encryptionKey !== undefined) throw error;
    const local = transfer.storage.pathOf(folder + file.stored);
    if (local !== undefined) await pipeline(createReadStream(local), createWriteStream(target), { signal });
    else await download(transfer.storage, folder + file.stored, target, signal);
  });
};
