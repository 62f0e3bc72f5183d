/**
 * Takes in the body of a request: counts its rows, and keeps them in memory while they are few, otherwise in a file.
 * The body is never held whole, and a request that breaks off leaves nothing.
 */
import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { writeAll } from "../../../lib/files.ts";
import { releaseBytes } from "../../../lib/release-bytes.ts";
import type { PushConfig } from "../declaration/kind.ts";
import { divisionOf } from "./formats.ts";
import { JsonValues } from "./json-values.ts";
import { RowScanner } from "./rows.ts";

/** Larger bodies are written to a file, unless the options say otherwise. */
const memoryBytes = 262_144;
/** Longest line of names. */
const headBytes = 65_536;

export type TakenIn = {
  readonly rows: number;
  readonly bytes: number;
  /** The line of names. */
  readonly head: string | undefined;
  /** In memory; empty when the rows are in a file. */
  readonly body: readonly Buffer[];
  /** Name of a file in the folder, whose content is durable. */
  readonly file: string | undefined;
  /** SHA-256 of the body as it was sent. */
  readonly digest: string | undefined;
  /** Removes the file: the rows are not wanted. */
  discard(): Promise<void>;
};

export type IntakeOptions = {
  readonly config: Pick<PushConfig, "format" | "delimiter">;
  readonly mediaType: string | undefined;
  /** Where large bodies are kept. */
  readonly folder: string;
  /** After decompression. */
  readonly mostBytes: number;
  readonly digests: boolean;
  readonly memoryBytes?: number;
};

/**
 * `check` is called when the body is complete. Throws INVALID_JSON, BAD_REQUEST or PAYLOAD_TOO_LARGE, and what the
 * stream and the check throw.
 */
export async function takeIn(
  stream: AsyncIterable<Buffer> | Iterable<Buffer>,
  options: IntakeOptions,
  check: () => void = () => {},
): Promise<TakenIn> {
  const intake = new Intake(options);
  try {
    // An asynchronous loop over what is there already takes several turns for each piece.
    if (Symbol.iterator in stream) {
      for (const piece of stream) {
        const spilling = intake.add(piece);
        if (spilling !== undefined) await spilling;
      }
    } else for await (const piece of stream) await intake.add(piece);
    check();
    const ending = intake.end();
    if (ending !== undefined) await ending;
    return intake.taken();
  } catch (error) {
    await intake.discard();
    throw error;
  }
}

class Intake {
  readonly #options: IntakeOptions;
  readonly #division: ReturnType<typeof divisionOf>;
  readonly #scanner: RowScanner | undefined;
  readonly #hash: Hash | undefined;
  #json: JsonValues | undefined;
  /** Nothing but white space has come yet. */
  #isBlank = true;
  #head: string | undefined;
  #headPieces: Buffer[] = [];
  #received = 0;
  #bytes = 0;
  #rows = 0;
  #pieces: Buffer[] = [];
  #inMemory = 0;
  #file: { readonly handle: FileHandle; readonly name: string } | undefined;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#division = divisionOf(options.config);
    this.#scanner = this.#division.kind === "whole" ? undefined : new RowScanner(this.#division.form);
    this.#hash = options.digests ? createHash("sha256") : undefined;
  }

  add(piece: Buffer): Promise<void> | undefined {
    const { mostBytes } = this.#options;
    this.#received += piece.length;
    if (this.#received > mostBytes) {
      throw new AppError("PAYLOAD_TOO_LARGE", `The body has more than ${mostBytes} bytes after decompression.`);
    }
    this.#hash?.update(piece);
    return this.#keep(this.#division.kind === "named" && this.#head === undefined ? this.#afterHead(piece) : piece);
  }

  /** Nothing follows. */
  end(): Promise<void> | undefined {
    this.#json?.end();
    const scanner = this.#scanner;
    // No rows follow a line of names that has no end.
    if (this.#headPieces.length > 0) this.#afterHead(Buffer.from("\n"));
    if (scanner?.isUnclosed === true) throw new AppError("BAD_REQUEST", "The body ends within a row.");
    const spilling = scanner?.isWithin === true ? this.#keep(Buffer.from("\n")) : undefined;
    if (scanner === undefined && this.#bytes > 0) this.#rows = 1;
    return spilling === undefined && this.#file === undefined ? undefined : this.#finishFile(spilling);
  }

  taken(): TakenIn {
    return {
      rows: this.#rows,
      bytes: this.#bytes,
      head: this.#head,
      body: this.#pieces,
      file: this.#rows === 0 ? undefined : this.#file?.name,
      digest: this.#hash?.digest("base64url"),
      discard: () => this.discard(),
    };
  }

  async discard(): Promise<void> {
    if (this.#file === undefined) return;
    await this.#file.handle.close().catch(() => {});
    await rm(join(this.#options.folder, this.#file.name), { force: true });
  }

  #keep(piece: Buffer): Promise<void> | undefined {
    if (piece.length === 0) return undefined;
    const rows = this.#division.kind === "json" ? this.#asLines(piece) : piece;
    if (this.#scanner !== undefined) {
      for (let at = this.#scanner.next(rows, 0); at >= 0; at = this.#scanner.next(rows, at)) this.#rows += 1;
    }
    this.#bytes += rows.length;
    this.#pieces.push(rows);
    this.#inMemory += rows.length;
    return this.#inMemory > (this.#options.memoryBytes ?? memoryBytes) ? this.#spill() : undefined;
  }

  /** Decides by the first byte: an array is a document whatever its media type. */
  #asLines(piece: Buffer): Buffer {
    if (this.#isBlank) {
      // A mark of the byte order is not part of the first row.
      if (piece[0] === 0xef && piece[1] === 0xbb && piece[2] === 0xbf) piece.fill(0x20, 0, 3);
      const first = piece.find((byte) => byte > 0x20);
      if (first === undefined) return piece;
      this.#isBlank = false;
      if (first === 0x5b || this.#options.mediaType === "application/json") this.#json = new JsonValues();
    }
    return this.#json?.lines(piece) ?? piece;
  }

  /** What follows the line of names. */
  #afterHead(piece: Buffer): Buffer {
    const end = (this.#scanner as RowScanner).next(piece, 0);
    this.#headPieces.push(end < 0 ? piece : piece.subarray(0, end));
    const head = Buffer.concat(this.#headPieces);
    if (head.length > headBytes) {
      throw new AppError("BAD_REQUEST", `The first line, which names the columns, has more than ${headBytes} bytes.`);
    }
    if (end < 0) return Buffer.alloc(0);
    this.#headPieces = [];
    this.#head = head
      .toString()
      .replace(/^\uFEFF?\s*/, "")
      .replace(/\r?\n$/, "");
    return piece.subarray(end);
  }

  async #spill(): Promise<void> {
    if (this.#file === undefined) {
      const name = `${randomUUID()}.body`;
      const handle = await open(join(this.#options.folder, name), "wx", 0o600);
      this.#file = { handle, name };
    }
    const pieces = this.#pieces;
    const position = this.#bytes - this.#inMemory;
    this.#pieces = [];
    this.#inMemory = 0;
    await writeAll(this.#file.handle, pieces, position);
    for (const piece of pieces) releaseBytes(piece);
  }

  async #finishFile(spilling: Promise<void> | undefined): Promise<void> {
    await spilling;
    if (this.#file === undefined) return;
    if (this.#pieces.length > 0) await this.#spill();
    await this.#file.handle.datasync();
    await this.#file.handle.close();
    if (this.#rows === 0) await rm(join(this.#options.folder, this.#file.name), { force: true });
  }
}
