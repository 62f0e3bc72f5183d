/**
 * Where new backups are stored and how old ones are reached: the configured location, its keys, and the folders of this
 * machine.
 */
import { join, resolve } from "node:path";
import type { Config } from "../../config.ts";
import { AppError, asAppError, describeError } from "../../lib/errors.ts";
import { emptyFolder, removeFolder } from "../../lib/files.ts";
import { makeFolder } from "../../lib/make-folder.ts";
import type { Backup, BackupLocation } from "../../store/backups/backups.ts";
import type { FileWorker } from "../files/file-worker.ts";
import type { FileTransfer } from "../files/files.ts";
import { LocalStorage } from "./local-storage.ts";
import { type S3Keys, S3Storage } from "./s3-storage.ts";
import type { BackupStorage } from "./storage.ts";

export type BackupTargetOptions = {
  readonly location: BackupLocation;
  readonly s3Keys: S3Keys | undefined;
  /** The servers of external services use them. Undefined: they have keys of their own. */
  readonly serverKeys: S3Keys | undefined;
  /** 32 bytes; undefined: backups are stored as the engine writes them. */
  readonly encryptionKey: Buffer | undefined;
  readonly dataDir: string;
};

/** The server's settings for the location of backups; see `src/config.ts`. */
export type BackupTargetSettings = Pick<Config, "backupBucketRegion"> &
  Partial<
    Pick<
      Config,
      | "backupDir"
      | "backupBucket"
      | "backupBucketEndpoint"
      | "backupEncryptionKey"
      | `${"backup" | "externalBackup"}${"AccessKeyId" | "SecretAccessKey"}`
    >
  >;

/** A bucket, a directory, or `backups` in the data directory. */
export function backupLocationOptions(settings: BackupTargetSettings, dataDir: string): BackupTargetOptions {
  const { backupEncryptionKey } = settings;
  return {
    location:
      settings.backupBucket === undefined
        ? { kind: "local", root: resolve(settings.backupDir ?? join(dataDir, "backups")) }
        : bucketLocation(settings.backupBucket, settings),
    s3Keys: keysOf(settings.backupAccessKeyId, settings.backupSecretAccessKey),
    serverKeys: keysOf(settings.externalBackupAccessKeyId, settings.externalBackupSecretAccessKey),
    encryptionKey: backupEncryptionKey === undefined ? undefined : Buffer.from(backupEncryptionKey, "base64"),
    dataDir,
  };
}

function keysOf(accessKeyId: string | undefined, secretAccessKey: string | undefined): S3Keys | undefined {
  return accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
}

/** `s3://bucket/prefix` */
function bucketLocation(url: string, settings: BackupTargetSettings): BackupLocation {
  const [, bucket = "", folder = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(url) ?? [];
  const endpoint = settings.backupBucketEndpoint;
  return {
    kind: "s3",
    bucket,
    prefix: folder === "" || folder.endsWith("/") ? folder : `${folder}/`,
    ...(endpoint === undefined ? {} : { endpoint }),
    region: settings.backupBucketRegion,
  };
}

const refusals: Readonly<Record<string, string | undefined>> = {
  ENOTDIR: "a part of this path is a file",
  EEXIST: "a file has this name",
  ENOSPC: "its disk is full",
  EROFS: "its file system is read-only",
  EACCES: "the user that runs Millrace may not write there",
  EPERM: "the user that runs Millrace may not write there",
};

/** Says in a sentence why a folder of this machine cannot be used. */
export function folderError(path: string, use: "made" | "written", cause: unknown): AppError {
  const { code = "" } = cause as NodeJS.ErrnoException;
  const message = `The folder ${path} cannot be ${use}: ${refusals[code] ?? describeError(cause)}.`;
  return new AppError(asAppError(cause)?.code ?? "DISK_FAILED", message, { cause });
}

export class BackupTarget {
  readonly location: BackupLocation;
  readonly encryptionKey: Buffer | undefined;
  readonly serverKeys: S3Keys | undefined;
  readonly #s3Keys: S3Keys | undefined;
  readonly #stagingRoot: string;
  readonly #storages = new Map<string, BackupStorage>();

  constructor(options: BackupTargetOptions) {
    this.location = options.location;
    this.encryptionKey = options.encryptionKey;
    this.serverKeys = options.serverKeys;
    this.#s3Keys = options.s3Keys;
    // Beside the backups when files can simply be moved there; plain bytes never reach the disk of encrypted backups.
    this.#stagingRoot =
      options.location.kind === "local" && options.encryptionKey === undefined
        ? join(options.location.root, ".staging")
        : join(options.dataDir, "backup-staging");
  }

  get current(): BackupStorage {
    return this.storageOf(this.location);
  }

  /** Also reaches locations of earlier configurations; buckets with the current key. */
  storageOf(location: BackupLocation): BackupStorage {
    const key = JSON.stringify(location);
    let storage = this.#storages.get(key);
    if (storage === undefined) {
      storage = location.kind === "local" ? new LocalStorage(location.root) : new S3Storage(location, this.#s3Keys);
      this.#storages.set(key, storage);
    }
    return storage;
  }

  /** How the files of a backup are stored and read. */
  transferOf({ location, encrypted }: Pick<Backup, "location" | "encrypted">, worker: FileWorker): FileTransfer {
    return { storage: this.storageOf(location), worker, encryptionKey: encrypted ? this.encryptionKey : undefined };
  }

  /** The only folder in which the engine of this service may write and read backups. Private; created when missing. */
  stagingOf(serviceId: string): string {
    const path = join(this.#stagingRoot, serviceId);
    try {
      makeFolder(path);
    } catch (cause) {
      throw folderError(path, "made", cause);
    }
    return path;
  }

  /**
   * Removes what operations on the service left in its staging folder. Only while none is running. The folder itself
   * stays: a running engine's access rule refers to this folder.
   */
  async clearStaging(serviceId: string): Promise<void> {
    await emptyFolder(this.stagingOf(serviceId));
  }

  /** Removes the staging folder with what is in it. Only while no engine of the service runs. */
  async removeStaging(serviceId: string): Promise<void> {
    await removeFolder(join(this.#stagingRoot, serviceId));
  }
}
