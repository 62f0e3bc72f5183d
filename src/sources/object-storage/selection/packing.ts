/** Groups object versions into batches. */
import { createHash } from "node:crypto";
import type { Pack } from "../declaration/durable.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { bridgeModeOf, isCompressed, type ObjectFormat } from "../reading/formats.ts";
import { isPlainKey } from "../stores/keys.ts";
import type { ObjectFile } from "../stores/store.ts";
import { type ListedPage, Runs } from "./runs.ts";

/** Limits of a packer, and the page of the listing that the files come from. */
export type PackLimits = {
  readonly maxBytes: number;
  readonly maxFiles: number;
  /** Parsing threads of a batch that runs beside others, and of one that runs alone. */
  readonly threads: { readonly beside: number; readonly alone: number };
  readonly page?: ListedPage;
};

/** Stored bytes that become one block in memory; columnar and compressed files grow when they are read. */
const oneBlockTextBytes = 64 * 2 ** 20;
const oneBlockPackedBytes = 16 * 2 ** 20;
/** The engine expands a list of at most this many keys. */
const maxListedKeys = 1000;
/** A bad object of a refused batch is found in few steps, and many at once. */
const partsOfRefused = 10;
/** The names are a parameter of the statement, which must stay well below the engine's limit of a URL. */
const maxListedChars = 200_000;
/** What stands beside the key and the version of an object in the statement: the bucket and punctuation. */
const charsBeside = 80;
/** A LIST more is not worth its cost for fewer objects. */
const leastListed = 10;

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
  readonly #maxFiles: number;
  readonly #runs: Runs | undefined;
  readonly #compression: ObjectStorageConfig["compression"];
  #files: ObjectFile[] = [];
  #format: ObjectFormat | undefined;
  #packed = false;
  #bridgeMode: string | undefined;
  #bytes = 0;
  #chars = 0;
  #added = 0;
  /** The place in the listing where the batch ends at the latest, so that the engine can list it. */
  #end: number | undefined;

  constructor(limits: PackLimits, compression: ObjectStorageConfig["compression"]) {
    this.#limits = limits;
    this.#maxFiles = Math.min(limits.maxFiles, maxListedKeys);
    this.#runs = limits.page && new Runs(limits.page);
    this.#compression = compression;
  }

  /** Returns the packs that are complete with this file. */
  add(file: ObjectFile, format: ObjectFormat): Pack[] {
    const packed = isPacked(file, format, this.#compression);
    const bridgeMode = bridgeModeOf(file.key, format, this.#compression);
    this.#added += 1;
    if (!isPlainKey(file.key) || !fitsOneBlock(file.size, packed)) {
      const threads = this.#limits.threads[this.#added > 1 ? "beside" : "alone"];
      return [{ files: [file], format, oneBlock: fitsOneBlock(file.size, packed), lenient: false, threads }];
    }
    const chars = encodeURIComponent(file.key).length + file.etag.length + charsBeside;
    const place = this.#runs?.placeOf(file.key) ?? 0;
    const isInRun = this.#end !== undefined && place < this.#end;
    const end = isInRun ? this.#end : this.#runs?.endOf(place, this.#maxFiles);
    const full =
      this.#format !== format ||
      this.#packed !== packed ||
      this.#bridgeMode !== bridgeMode ||
      this.#files.length >= this.#maxFiles ||
      this.#bytes + file.size > this.#limits.maxBytes ||
      this.#chars + chars > maxListedChars ||
      !fitsOneBlock(this.#bytes + file.size, packed) ||
      end !== this.#end;
    const done = full ? this.flush() : [];
    this.#end = end;
    this.#format = format;
    this.#packed = packed;
    this.#bridgeMode = bridgeMode;
    this.#files.push(file);
    this.#bytes += file.size;
    this.#chars += chars;
    return done;
  }

  flush(): Pack[] {
    if (this.#files.length === 0) return [];
    const folder = this.#files.length < leastListed ? undefined : this.#runs?.prefixOf(this.#files);
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

/** What a refused batch of several files is tried again in. */
export function partsOf({ folder: _, ...pack }: Pack): Pack[] {
  const size = Math.ceil(pack.files.length / partsOfRefused);
  const files = Array.from({ length: partsOfRefused }, (_, part) => pack.files.slice(part * size, (part + 1) * size));
  return files.filter(({ length }) => length > 0).map((part) => ({ ...pack, files: part }));
}

/** Why an object is given up: a pipe that never ends shows it until it has loaded another one. */
export function whyGivenUp({ givenUp, rejected = [] }: Pack): string | undefined {
  const [first] = rejected;
  if (givenUp !== true || first === undefined) return undefined;
  return `The object ${first.origin} could not be read: ${first.message} Further objects are read.`;
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
