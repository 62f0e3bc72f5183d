/**
 * The beginning of a request's body, decoded, as far as a statement may extend into it. The raw bytes are kept, so that
 * the body can be forwarded unchanged.
 */
import type { IncomingMessage } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { Lz4FrameReader } from "../../lib/lz4-frames.ts";
import { maxStatementBytes } from "../sql/rules/facts.ts";
import { maxSearchedBytes } from "../sql/text/values-data.ts";
import { CompressedBlocks } from "./compressed-blocks.ts";

/** Encodings in which a statement may be sent. Insert data may have any encoding that the engine knows. */
const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
  lz4: () => new Lz4Frames(),
};

/** No statement needs more, and a few bytes may decode to gigabytes. */
const maxDecodedBytes = Math.max(maxStatementBytes + 1, maxSearchedBytes);

export class BodyPrefix {
  /** The raw body read so far. */
  readonly raw: Buffer[] = [];
  readonly #message: IncomingMessage;
  readonly #decoder: Transform | undefined;
  readonly #decoded: Buffer[] = [];
  #failure: Error | undefined;
  #ended = false;
  #bytes = 0;

  /**
   * `decompress`: the body consists of ClickHouse's own compressed blocks. Throws NOT_IMPLEMENTED for an unknown
   * encoding.
   */
  constructor(message: IncomingMessage, decompress: boolean) {
    this.#message = message;
    this.#decoder = decoderOf(message, decompress);
    this.#decoder?.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#decoder?.on("end", () => {
      this.#ended = true;
    });
    this.#decoder?.on("error", (error) => {
      this.#failure = error;
    });
  }

  /** True once everything is read and decoded. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The bytes decoded so far. */
  bytes(): Buffer {
    if (this.#decoded.length > 1) this.#decoded.splice(0, this.#decoded.length, Buffer.concat(this.#decoded));
    return this.#decoded[0] ?? Buffer.alloc(0);
  }

  /**
   * Reads until at least `bytes` are decoded, at most `maxDecodedBytes`, or the body has ended. Throws when the body is
   * truncated or damaged.
   */
  async read(bytes: number): Promise<void> {
    while (!this.#ended && this.#bytes < Math.min(bytes, maxDecodedBytes)) {
      const chunk = await nextChunk(this.#message);
      if (chunk === undefined) await this.#finish();
      else await this.#give(chunk);
      if (this.#failure !== undefined) throw damaged(this.#failure);
    }
  }

  async #give(chunk: Buffer): Promise<void> {
    this.raw.push(chunk);
    const decoder = this.#decoder;
    if (decoder === undefined) return this.#take(chunk);
    await new Promise<void>((resolve) => {
      decoder.once("close", resolve);
      decoder.write(chunk, () => {
        decoder.off("close", resolve);
        resolve();
      });
    });
  }

  async #finish(): Promise<void> {
    const decoder = this.#decoder;
    if (decoder === undefined) {
      this.#ended = true;
      return;
    }
    const over = new Promise<void>((resolve) => {
      decoder.once("end", resolve);
      decoder.once("error", () => resolve());
      decoder.once("close", resolve);
    });
    decoder.end();
    await over;
  }

  #take(chunk: Buffer): void {
    if (this.#decoder?.destroyed) return;
    this.#decoded.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= maxDecodedBytes) this.#decoder?.destroy();
  }
}

/** The next chunk of a paused body; undefined at its end. The rest stays unread. */
function nextChunk(message: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (message.readableEnded) return resolve(undefined);
    const settle = (chunk: Buffer | undefined) => {
      message.pause();
      message.off("data", settle).off("end", atEnd).off("close", atClose);
      resolve(chunk);
    };
    const atEnd = () => settle(undefined);
    const atClose = () => reject(clickHouseException("CANNOT_READ_ALL_DATA", "The body was cut off."));
    message.on("data", settle).on("end", atEnd).on("close", atClose);
    message.resume();
  });
}

/** True when the body has no encoding that only the engine knows. */
export function canDecode({ headers }: IncomingMessage): boolean {
  const encoding = encodingOf(headers["content-encoding"]);
  return encoding === undefined || Object.hasOwn(decoders, encoding);
}

function encodingOf(header: string | undefined): string | undefined {
  const encoding = (header ?? "").trim().toLowerCase();
  return encoding === "" || encoding === "identity" ? undefined : encoding;
}

function decoderOf(message: IncomingMessage, decompress: boolean): Transform | undefined {
  if (decompress) return new CompressedBlocks();
  const encoding = encodingOf(message.headers["content-encoding"]);
  if (encoding === undefined) return undefined;
  const create = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (create !== undefined) return create();
  const known = Object.keys(decoders).join(", ");
  throw clickHouseException(
    "NOT_IMPLEMENTED",
    `A statement cannot travel in a body with Content-Encoding '${encoding}'. Send the statement in the URL, or use one of ${known}.`,
  );
}

function damaged(error: Error): Error {
  if (error instanceof ClickHouseException) return error;
  return clickHouseException("CANNOT_DECOMPRESS", `The compressed body cannot be read: ${error.message}.`);
}

/** Reads one or more consecutive frames. A stream that ends inside a frame is an error. */
class Lz4Frames extends Transform {
  readonly #reader = new Lz4FrameReader();

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      for (const block of this.#reader.read(chunk)) {
        // The reader has enough.
        if (this.destroyed) break;
        this.push(block);
      }
      done();
    } catch (error) {
      done(clickHouseException("CANNOT_DECOMPRESS", "The LZ4 frame cannot be decompressed.", { cause: error }));
    }
  }

  override _flush(done: TransformCallback): void {
    const isWhole = this.#reader.isDone;
    done(isWhole ? null : clickHouseException("CANNOT_DECOMPRESS", "The body ends inside an LZ4 frame."));
  }
}
