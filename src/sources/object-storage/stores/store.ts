/** What the connector needs from a store: listing, and a way for the engine to read objects. */
import type { Readable } from "node:stream";

export type ObjectFile = {
  readonly key: string;
  /** Changes with every new content of the key. Without quotes, which stores and the engine add inconsistently. */
  readonly etag: string;
  readonly size: number;
  /** Number of the request to load it once more; absent for the first time. */
  readonly again?: number;
};

/** The size of all of them, in bytes. */
export function bytesOf(files: readonly ObjectFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** A table function call for the given keys, without its format arguments. */
export type ReadCall = {
  /** An example is `s3({url:String}, {key:String}, {secret:String}, `: format, structure and compression follow. */
  readonly head: string;
  readonly params: Readonly<Record<string, string>>;
};

export function bareEtag(etag: string | undefined): string {
  return (etag ?? "").replaceAll('"', "");
}

export type ListPage = {
  readonly files: readonly ObjectFile[];
  readonly more: boolean;
  readonly last: string | undefined;
};

/** One level below a prefix: what is in folders is in `prefixes`. */
export type FolderPage = {
  readonly prefixes: readonly string[];
  readonly files: readonly ObjectFile[];
  /** Continues the listing, in the store's own form; undefined on the last page. */
  readonly token: string | undefined;
};

export interface ObjectStore {
  /** Up to 1000 objects after `after` (exclusive) in key order. `more` is false on the last page. */
  list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ListPage>;
  /** The object's name for people and for the engine's `_path`, including its bucket. */
  pathOf(key: string): string;
  /**
   * How the engine reads exactly these keys by itself; `listed` as in `enginePattern`. Absent: it reads them from our
   * bridge.
   */
  reader?(keys: readonly string[], signal: AbortSignal, listed?: string): Promise<ReadCall>;
  /** The current object. Throws when it is gone. */
  head(key: string, signal: AbortSignal): Promise<ObjectVersion>;
  /**
   * The object's bytes, or a range of them; with `etag` only of that version. Throws when the object is gone or has
   * another version.
   */
  download(
    key: string,
    etag: string | undefined,
    signal: AbortSignal,
    range?: ByteRange,
  ): Promise<ObjectVersion & { readonly body: Readable }>;
  close(): void;
}

/** A store whose folders can be looked into. */
export interface FolderStore extends ObjectStore {
  /** Up to `limit` prefixes and objects directly below `prefix`, which ends in `/` or is empty. */
  folder(prefix: string, token: string | undefined, limit: number, signal: AbortSignal): Promise<FolderPage>;
}

/** `size` is the whole object's. */
export type ObjectVersion = { readonly etag: string; readonly modified: Date; readonly size: number };

/** From `start` to `end`, both included; without `end` to the end of the object. */
export type ByteRange = { readonly start: number; readonly end?: number };

/** Size of an object, from a response that may contain only a part of it: `bytes 0-9/100`. */
export function wholeSize(contentRange: string | undefined, contentLength: number | undefined): number {
  return Number(contentRange?.split("/")[1] ?? contentLength ?? 0);
}
