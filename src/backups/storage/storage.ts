/** The storage of backups: a directory or a bucket, as files with keys that contain `/`. */
import type { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import type { BackupLocation } from "../../store/backups/backups.ts";

export type StoredFile = { readonly key: string; readonly size: number; readonly modifiedAt: Date };

export interface BackupStorage {
  readonly location: BackupLocation;
  /** Stores a copy of a file. It is durable once `settle` of its folder has resolved. */
  putFile(key: string, path: string, signal: AbortSignal): Promise<void>;
  /** Makes everything below the key durable. */
  settle(folder: string): Promise<void>;
  /** Stores a small file atomically: it is complete and durable, or absent. */
  putWhole(key: string, bytes: Buffer, signal: AbortSignal): Promise<void>;
  /** Throws `MissingFile` when there is no such file. */
  read(key: string, signal: AbortSignal): Promise<Readable>;
  /** Files whose key begins with the prefix, which ends in `/`. */
  list(prefix: string, signal: AbortSignal): Promise<StoredFile[]>;
  /** Removes everything below the prefix, which ends in `/`; a missing file is not an error. */
  removeAll(prefix: string, signal: AbortSignal): Promise<void>;
  /** Removes one file; a missing file is not an error. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** A local path of the file, if the storage has one. */
  pathOf(key: string): string | undefined;
}

/** True when both are the same location, whatever the order of their members. */
export function sameLocation(a: BackupLocation, b: BackupLocation): boolean {
  return isDeepStrictEqual(a, b);
}

export class MissingFile extends Error {
  constructor(key: string) {
    super(`${key} is missing`);
    this.name = "MissingFile";
  }
}
