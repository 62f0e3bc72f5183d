/**
 * Backups of the control plane's own metadata, beside those of the services: `metadata/<name>/`. Secrets in it stay
 * encrypted; their key is included only where backups are encrypted.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import type { Logger } from "../lib/logger.ts";
import type { Database } from "../store/database/database.ts";
import type { FileWorker } from "./files/file-worker.ts";
import { fetchFile, storeFolder } from "./files/files.ts";
import { manifestName } from "./files/manifest.ts";
import { defaultPeriodHours, defaultRetentionHours } from "./schedule.ts";
import type { BackupTarget } from "./storage/location.ts";
import { MissingFile } from "./storage/storage.ts";

export const metadataFolder = "metadata/";
const databaseFile = "millrace.db";
const keyFile = "secret.key";

/** The form of a metadata backup's manifest. */
export const metadataManifestSchema = z.object({
  format: z.literal("millrace-metadata/1"),
  id: z.uuid(),
  name: z.string(),
  version: z.string(),
  createdAt: z.string(),
  encrypted: z.boolean(),
  files: z.array(
    z.object({ path: z.enum([databaseFile, keyFile]), stored: z.string(), size: z.int(), sha256: z.string() }),
  ),
});
type MetadataManifest = z.output<typeof metadataManifestSchema>;

export type MetadataOptions = {
  readonly db: Database;
  readonly backupLocation: BackupTarget;
  readonly worker: FileWorker;
  readonly dataDir: string;
  /** The key that encrypts secrets, in base64. */
  readonly secretKey: string;
  readonly version: string;
  readonly hourMs: number;
  readonly logger: Logger;
};

export class MetadataBackups {
  readonly #options: MetadataOptions;
  #wanted = true;
  #lastAt = 0;

  constructor(options: MetadataOptions) {
    this.#options = options;
  }

  /** Requests a backup with the next pass, because the catalogue has changed. */
  want(): void {
    this.#wanted = true;
  }

  /** Makes a backup when one is requested or the last one is a period old, and removes those past the retention. */
  async pass(signal: AbortSignal): Promise<void> {
    const { hourMs, logger } = this.#options;
    if (!this.#wanted && Date.now() - this.#lastAt < defaultPeriodHours * hourMs) return;
    this.#wanted = false;
    try {
      const name = await this.#make(signal);
      this.#lastAt = Date.now();
      logger.info({ name }, "metadata backed up");
      await this.#prune(name, signal);
    } catch (error) {
      this.#wanted = true;
      throw error;
    }
  }

  async #make(signal: AbortSignal): Promise<string> {
    const { db, backupLocation, worker, dataDir, secretKey, version } = this.#options;
    const id = randomUUID();
    const createdAt = new Date().toISOString();
    const name = `${createdAt.replaceAll(/[-:.]/g, "")}-${id.slice(0, 8)}`;
    const folder = `${metadataFolder}${name}/`;
    const source = join(dataDir, "metadata-staging");
    // Left by an earlier process.
    await rm(source, { recursive: true, force: true });
    await mkdir(source, { recursive: true, mode: 0o700 });
    try {
      await db.snapshotTo(join(source, databaseFile));
      const encrypted = backupLocation.encryptionKey !== undefined;
      if (encrypted) await writeFile(join(source, keyFile), secretKey, { mode: 0o600 });
      const transfer = backupLocation.transferOf({ location: backupLocation.location, encrypted }, worker);
      const files = await storeFolder(transfer, source, { folder, backupId: id }, () => {}, signal);
      const manifest = { format: "millrace-metadata/1", id, name, version, createdAt, encrypted, files };
      await backupLocation.current.putWhole(folder + manifestName, Buffer.from(JSON.stringify(manifest)), signal);
      return name;
    } catch (error) {
      await backupLocation.current.removeAll(folder, signal).catch(() => {});
      throw error;
    } finally {
      await rm(source, { recursive: true, force: true });
    }
  }

  /** Also removes what interrupted runs left: everything here older than the retention, except the newest. */
  async #prune(newest: string, signal: AbortSignal): Promise<void> {
    const { backupLocation, hourMs } = this.#options;
    const storage = backupLocation.current;
    const files = await storage.list(metadataFolder, signal);
    const byName = Map.groupBy(files, ({ key }) => key.split("/")[1] ?? "");
    for (const [name, own] of byName) {
      const youngest = Math.max(...own.map((file) => file.modifiedAt.getTime()));
      if (name === newest || Date.now() - youngest < defaultRetentionHours * hourMs) continue;
      await storage.remove(`${metadataFolder}${name}/${manifestName}`, signal);
      await storage.removeAll(`${metadataFolder}${name}/`, signal);
    }
  }
}

/** Names of complete metadata backups, newest first. */
export async function listMetadata(backupLocation: BackupTarget, signal: AbortSignal): Promise<string[]> {
  const files = await backupLocation.current.list(metadataFolder, signal);
  return files
    .filter(({ key }) => key.endsWith(`/${manifestName}`))
    .map(({ key }) => key.split("/")[1] ?? "")
    .sort()
    .reverse();
}

/**
 * Writes the files of a metadata backup into an empty data directory. Throws when one is damaged or the directory is in
 * use.
 */
export async function fetchMetadata(
  deps: { backupLocation: BackupTarget; worker: FileWorker; dataDir: string },
  name: string,
  signal: AbortSignal,
): Promise<{ createdAt: string; hasKey: boolean }> {
  const { backupLocation, worker, dataDir } = deps;
  if (existsSync(join(dataDir, databaseFile)))
    throw new Error(`${dataDir} has a ${databaseFile}: choose an empty directory`);
  const folder = `${metadataFolder}${name}/`;
  const manifest = await readMetadataManifest(backupLocation, folder, signal);
  if (manifest.encrypted && backupLocation.encryptionKey === undefined) {
    throw new Error(`metadata backup ${name} is encrypted: give its key with --backup-encryption-key`);
  }
  const { location } = backupLocation;
  const transfer = backupLocation.transferOf({ location, encrypted: manifest.encrypted }, worker);
  // The database last: its presence marks the directory as restored.
  for (const file of manifest.files.toSorted((a) => (a.path === databaseFile ? 1 : -1))) {
    if (file.path === keyFile && existsSync(join(dataDir, keyFile))) continue;
    const staged = join(dataDir, `${file.path}.restoring`);
    await rm(staged, { force: true });
    await fetchFile(transfer, folder, manifest, file, staged, signal);
    // A copy, because the file of this name may exist and be open.
    await copyFile(staged, join(dataDir, file.path));
    await chmod(join(dataDir, file.path), 0o600);
    await rm(staged);
  }
  return { createdAt: manifest.createdAt, hasKey: manifest.files.some((file) => file.path === keyFile) };
}

async function readMetadataManifest(
  backupLocation: BackupTarget,
  folder: string,
  signal: AbortSignal,
): Promise<MetadataManifest> {
  try {
    const bytes = await buffer(await backupLocation.current.read(folder + manifestName, signal));
    return metadataManifestSchema.parse(JSON.parse(bytes.toString("utf8")));
  } catch (cause) {
    const reason = cause instanceof MissingFile ? "does not exist" : "has a manifest that cannot be read";
    throw new Error(`metadata backup ${folder} ${reason}`, { cause });
  }
}
