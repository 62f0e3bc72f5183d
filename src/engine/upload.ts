/** A request body being read: first as much as the statement needs, then the rest as insert data. */
import type { Readable, Transform } from "node:stream";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { free } from "../lib/free.ts";
import { IncomingMessage } from "../lib/node-http.ts";
import { decoderOf } from "./content-encoding.ts";
import { BlockDecompressor } from "./native-blocks.ts";
import type { QueryRequest } from "./request.ts";

/** How much is received ahead of what is taken. */
const aheadBytes = 2 * 1_048_576;

export class Upload {
  readonly #stream: Readable;
  #held: Buffer;
  #ended = false;
  /** What has arrived and was not taken. */
  #arrived: Buffer[] = [];
  #arrivedBytes = 0;
  #complete = false;
  #abandoned = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};

  /** `first` is put in front of the stream's bytes. */
  constructor(first: Buffer, stream: Readable) {
    this.#held = first;
    this.#stream = stream;
    // Not as an async iterator: that one would copy the chunks of a fast sender together.
    stream.on("data", (chunk: Buffer) => {
      if (this.#abandoned) return;
      this.#arrived.push(chunk);
      this.#arrivedBytes += chunk.length;
      if (this.#arrivedBytes >= aheadBytes) stream.pause();
      this.#wake();
    });
    stream.on("end", () => {
      this.#complete = true;
      this.#wake();
    });
    stream.on("error", (error) => this.#fail(error));
    stream.on("close", () => {
      if (!this.#complete) this.#fail(brokenOff());
    });
  }

  /** The bytes read and not yet taken. */
  get held(): Buffer {
    return this.#held;
  }

  /** True once the sender has sent everything; a sender that broke off makes reading reject instead. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Reads until at least `bytes` are held or the body is complete. */
  async hold(bytes: number): Promise<void> {
    const parts = [this.#held];
    let size = this.#held.length;
    while (size < bytes && !this.#ended) {
      for (const chunk of await this.#next()) {
        parts.push(chunk);
        size += chunk.length;
      }
    }
    if (parts.length === 1) return;
    this.#held = Buffer.concat(parts);
    this.used(parts);
  }

  /** Forgets the first `bytes` held. */
  drop(bytes: number): void {
    this.#held = this.#held.subarray(bytes);
  }

  /** What is held or has arrived, at least one piece; none at the end. Give them back with `used`. */
  async take(): Promise<Buffer[]> {
    if (this.#held.length === 0) return this.#ended ? [] : await this.#next();
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return [held];
  }

  /** Nobody needs these bytes any more. */
  used(parts: readonly Buffer[]): void {
    // What a decoder gave out it may still look back at.
    if (this.#stream instanceof IncomingMessage) for (const part of parts) free(part);
  }

  /** The rest of the body passes unread from here on. */
  abandon(): void {
    this.#abandoned = true;
    this.#stream.resume();
  }

  /** Reads and forgets, so that the sender gets to read our answer; gives up after `bytes`. */
  async discard(bytes: number): Promise<void> {
    let left = bytes;
    while (!this.#ended && left > 0) for (const chunk of await this.#next()) left -= chunk.length;
  }

  /** Everything that has arrived, waiting for the first of it. None, and `ended`, at the end. */
  async #next(): Promise<Buffer[]> {
    while (this.#arrived.length === 0 && !this.#complete && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const arrived = this.#arrived;
    this.#arrived = [];
    this.#arrivedBytes = 0;
    if (arrived.length === 0) {
      this.#ended = true;
      if (this.#failure !== undefined) throw readError(this.#failure);
    } else if (this.#stream.isPaused()) this.#stream.resume();
    return arrived;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }
}

/**
 * The body without the encodings of HTTP and of the native format. A body that breaks off fails every stage. A stage that
 * fails leaves the message alone: its connection has an answer to carry.
 */
export function plainBody(message: IncomingMessage, request: QueryRequest): Readable {
  const stages = [decoderOf(request.contentEncoding), request.decompress ? new BlockDecompressor() : undefined];
  let body: Readable = message;
  for (const stage of stages) if (stage !== undefined) body = through(body, stage);
  return body;
}

function through(from: Readable, stage: Transform): Transform {
  from.on("error", (error) => stage.destroy(error));
  from.on("close", () => {
    if (!from.readableEnded) stage.destroy(brokenOff());
  });
  return from.pipe(stage);
}

function brokenOff(): Error {
  return Object.assign(new Error("the body broke off"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
}

function readError(error: unknown): Error {
  if (error instanceof ClickHouseException) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ERR_STREAM_DESTROYED") {
    return clickHouseException("NETWORK_ERROR", "The connection was closed before the whole body arrived.", {
      cause: error,
    });
  }
  if (code?.startsWith("Z_") || code?.startsWith("ZSTD_") || code?.startsWith("ERR_")) {
    return clickHouseException("CANNOT_DECOMPRESS", "The request body cannot be decompressed.", { cause: error });
  }
  return error as Error;
}
