/** A request body being read: first as much as the statement needs, then the rest as insert data. */
import type { Readable } from "node:stream";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";

export class Upload {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer;
  #ended = false;

  /** `first` is put in front of the stream's bytes. */
  constructor(first: Buffer, stream: Readable) {
    this.#held = first;
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
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
      const chunk = await this.#next();
      if (chunk === undefined) break;
      parts.push(chunk);
      size += chunk.length;
    }
    if (parts.length > 1) this.#held = Buffer.concat(parts);
  }

  /** Forgets the first `bytes` held. */
  drop(bytes: number): void {
    this.#held = this.#held.subarray(bytes);
  }

  /** What is held, then every further chunk. */
  async *rest(): AsyncGenerator<Buffer> {
    if (this.#held.length > 0) yield this.#held;
    this.#held = Buffer.alloc(0);
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) yield chunk;
  }

  /** Reads and forgets, so that the sender gets to read our answer; gives up after `bytes`. */
  async discard(bytes: number): Promise<void> {
    let left = bytes;
    while (!this.#ended && left > 0) left -= (await this.#next())?.length ?? 0;
  }

  async #next(): Promise<Buffer | undefined> {
    const { value, done } = await this.#chunks.next().catch((error: unknown) => {
      this.#ended = true;
      throw readError(error);
    });
    if (!done) return value;
    this.#ended = true;
    return undefined;
  }
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
