/**
 * ClickHouse's own compressed stream (`compress=1`, `decompress=1`): blocks of a 16-byte CityHash128, one method byte,
 * compressed size (with its 9 header bytes), decompressed size, data. Written with LZ4; LZ4, ZSTD and NONE are read,
 * and every checksum is verified.
 */
import { Transform, type TransformCallback } from "node:stream";
import { zstdDecompressSync } from "node:zlib";
import { compressSync, uncompressSync } from "lz4-napi";
import { clickHouseException } from "../../src/clickhouse/exception.ts";
import { cityHash128 } from "./cityhash.ts";

const checksumBytes = 16;
const headerBytes = 9;
const methods = { none: 0x02, lz4: 0x82, zstd: 0x90 } as const;
const blockBytes = 1_048_576;
const maxBlockBytes = 1 << 30;

/** Plain bytes in, compressed blocks out. */
export class BlockCompressor extends Transform {
  #held: Buffer[] = [];
  #heldBytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= blockBytes) this.#pushBlock();
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#heldBytes > 0) this.#pushBlock();
    done();
  }

  #pushBlock(): void {
    this.push(compressBlock(Buffer.concat(this.#held)));
    this.#held = [];
    this.#heldBytes = 0;
  }
}

/** Compressed blocks in, plain bytes out. A stream that ends inside a block is an error. */
export class BlockDecompressor extends Transform {
  #held: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    try {
      for (let size = this.#blockSize(); size !== undefined && this.#held.length >= size; size = this.#blockSize()) {
        this.push(decompressBlock(this.#held.subarray(0, size)));
        this.#held = this.#held.subarray(size);
      }
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    const rest = this.#held.length;
    done(rest === 0 ? null : clickHouseException("CANNOT_READ_ALL_DATA", "The compressed body ends inside a block."));
  }

  #blockSize(): number | undefined {
    if (this.#held.length < checksumBytes + headerBytes) return undefined;
    const size = this.#held.readUInt32LE(checksumBytes + 1);
    if (size < headerBytes || size > maxBlockBytes) throw corrupt("its size is out of bounds");
    return checksumBytes + size;
  }
}

export function compressBlock(plain: Buffer): Buffer {
  // The binding puts the plain size in front, which is where our own header ends.
  const packed = compressSync(plain);
  const block = Buffer.allocUnsafe(checksumBytes + headerBytes + packed.length - 4);
  block[checksumBytes] = methods.lz4;
  block.writeUInt32LE(headerBytes + packed.length - 4, checksumBytes + 1);
  packed.copy(block, checksumBytes + 5);
  cityHash128(block.subarray(checksumBytes)).copy(block, 0);
  return block;
}

function decompressBlock(block: Buffer): Buffer {
  const body = block.subarray(checksumBytes);
  if (!cityHash128(body).equals(block.subarray(0, checksumBytes))) {
    throw clickHouseException("CHECKSUM_DOESNT_MATCH", "Checksum doesn't match: corrupted data.");
  }
  const size = body.readUInt32LE(5);
  if (size > maxBlockBytes) throw corrupt("its size is out of bounds");
  const plain = unpack(body, size);
  if (plain.length !== size) throw corrupt("it has another size than it says");
  return plain;
}

function unpack(body: Buffer, size: number): Buffer {
  const method = body[0];
  const data = body.subarray(headerBytes);
  try {
    if (method === methods.none) return data;
    if (method === methods.zstd) return zstdDecompressSync(data, { maxOutputLength: Math.max(size, 1) });
    // Size and data stand next to each other as the binding wants them.
    if (method === methods.lz4) return uncompressSync(body.subarray(5));
  } catch (error) {
    throw clickHouseException("CANNOT_DECOMPRESS", "A compressed block cannot be decompressed.", { cause: error });
  }
  throw corrupt(`its method ${method} is unknown`);
}

function corrupt(why: string): Error {
  return clickHouseException("CANNOT_DECOMPRESS", `A compressed block cannot be read: ${why}.`);
}
