/** Groups object versions into batches. */
import { createHash } from "node:crypto";
import type { Pack } from "../declaration/durable.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { isCompressed, isUnpacked, type ObjectFormat } from "../reading/formats.ts";
import { isPlainKey, listedPrefix } from "../stores/keys.ts";
import type { ObjectFile } from "../stores/store.ts";

/** Limits of a packer, and the page of the listing that the files come from. */
export type PackLimits = {
  readonly maxBytes: number;
  readonly maxFiles: number;
  /** Parsing threads of a batch that runs beside others, and of one that runs alone. */
  readonly threads: { readonly beside: number; readonly alone: number };
  readonly page?: ListedPage;
};

export type ListedPage = {
  /** Every key of the page, including unwanted objects. */
  readonly keys: readonly string[];
  /** The last key before the page, and whether keys follow it. */
  readonly after: string | undefined;
  readonly more: boolean;
};

/** Stored bytes that become one block in memory; columnar and compressed files grow when they are read. */
const oneBlockTextBytes = 64 * 2 ** 20;
const oneBlockPackedBytes = 16 * 2 ** 20;
/** The engine expands a list of at most this many keys. */
const maxListedKeys = 1000;
/** A statement must stay well below the engine's limit of its own length. */
const maxListedChars = 100_000;

export function fitsOneBlock(bytes: number, packed: boolean): boolean {
  return bytes <= (packed ? oneBlockPackedBytes : oneBlockTextBytes);
}

export function isPacked(file: ObjectFile, format: ObjectFormat, compression: ObjectStorageConfig["compression"]) {
  const text = format.startsWith("JSON") || format.startsWith("CSV") || format.startsWith("TabSeparated");
  return !text || isCompressed(file.key, compression);
}

/**
 * Collects small files until a batch is full; large files and keys with wildcard characters get batches of their own.
 */
export class Packer {
  readonly #limits: PackLimits;
  readonly #compression: ObjectStorageConfig["compression"];
  #files: ObjectFile[] = [];
  #format: ObjectFormat | undefined;
  #packed = false;
  #unpacked = false;
  #bytes = 0;
  #chars = 0;
  #added = 0;

  constructor(limits: PackLimits, compression: ObjectStorageConfig["compression"]) {
    this.#limits = limits;
    this.#compression = compression;
  }

  /** Returns the packs that are complete with this file. */
  add(file: ObjectFile, format: ObjectFormat): Pack[] {
    const packed = isPacked(file, format, this.#compression);
    const unpacked = isUnpacked(file.key, format, this.#compression);
    this.#added += 1;
    if (!isPlainKey(file.key) || !fitsOneBlock(file.size, packed)) {
      const threads = this.#limits.threads[this.#added > 1 ? "beside" : "alone"];
      return [{ files: [file], format, oneBlock: fitsOneBlock(file.size, packed), lenient: false, threads }];
    }
    const full =
      this.#format !== format ||
      this.#packed !== packed ||
      this.#unpacked !== unpacked ||
      this.#files.length >= Math.min(this.#limits.maxFiles, maxListedKeys) ||
      this.#bytes + file.size > this.#limits.maxBytes ||
      this.#chars + file.key.length > maxListedChars ||
      !fitsOneBlock(this.#bytes + file.size, packed);
    const done = full ? this.flush() : [];
    this.#format = format;
    this.#packed = packed;
    this.#unpacked = unpacked;
    this.#files.push(file);
    this.#bytes += file.size;
    this.#chars += file.key.length;
    return done;
  }

  flush(): Pack[] {
    if (this.#files.length === 0) return [];
    const folder = folderOf(this.#files, this.#limits.page);
    const pack = {
      files: this.#files,
      format: this.#format as ObjectFormat,
      oneBlock: true,
      lenient: false,
      threads: this.#limits.threads.beside,
      ...(folder === undefined ? {} : { folder }),
    };
    this.#files = [];
    this.#bytes = 0;
    this.#chars = 0;
    return [pack];
  }
}

/**
 * A common prefix of the files under which the store has few other keys, none in deeper folders, and none whose name
 * goes on after a file's, like that of a checksum beside it: the engine would read it with them.
 */
function folderOf(files: readonly ObjectFile[], page: ListedPage | undefined): string | undefined {
  if (page === undefined || files.length < 10) return undefined;
  const keys = new Set(files.map(({ key }) => key));
  const prefix = listedPrefix([...keys]);
  if (prefix === undefined) return undefined;
  const same = page.keys.filter((key) => key.startsWith(prefix));
  const cutBefore = page.after?.startsWith(prefix) === true;
  const cutAfter = page.more && page.keys.at(-1)?.startsWith(prefix) === true;
  const stems = [...keys].map((key) => key.slice(0, -1));
  const goesOn = (key: string) => !keys.has(key) && stems.some((stem) => key.startsWith(stem));
  const isApart = same.some((key) => key.includes("/", prefix.length) || goesOn(key));
  return cutBefore || cutAfter || isApart || same.length > 2 * files.length ? undefined : prefix;
}

/** Equal for the same object versions read in the same way, and only for them. */
export function packId(pack: Pack): string {
  const manner = [pack.lenient, pack.givenUp ?? false];
  const files = pack.files.map(({ key, etag, size, again }) => [
    key,
    etag,
    size,
    ...(again === undefined ? [] : [again]),
  ]);
  const content = JSON.stringify([...manner, pack.format, files]);
  return createHash("sha256").update(content).digest("hex").slice(0, 32);
}
