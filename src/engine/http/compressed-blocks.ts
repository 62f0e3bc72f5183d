/**
 * Reads ClickHouse's own compressed stream (`decompress=1`): blocks of a 16-byte checksum, one method byte, compressed
 * size (including its 9 header bytes), decompressed size, data. The engine verifies the checksums, because it receives
 * the same bytes.
 */
import { Transform, type TransformCallback } from "node:stream";
import { zstdDecompressSync } from "node:zlib";
import { uncompressSync } from "lz4-napi";
import { clickHouseException } from "../../clickhouse/exception.ts";

const checksumBytes = 16;
const headerBytes = 9;
const methods = { none: 0x02, lz4: 0x82, zstd: 0x90 } as const;
/** Larger than any block that a client writes for a statement. */
const maxBlockBytes = 64 * 1_048_576;

/** Compressed blocks in, plain bytes out. A stream that ends inside a block is an error. */
export class CompressedBlocks extends Transform {
  #held: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    try {
      for (let size = this.#blockSize(); size !== undefined && this.#held.length >= size; size = this.#blockSize()) {
        // The reader has enough.
        if (this.destroyed) break;
        this.push(unpacked(this.#held.subarray(checksumBytes, size)));
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

function unpacked(body: Buffer): Buffer {
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
    // Size and data are adjacent, as the binding expects them.
    if (method === methods.lz4) return uncompressSync(body.subarray(5));
  } catch (error) {
    throw clickHouseException("CANNOT_DECOMPRESS", "A compressed block cannot be decompressed.", { cause: error });
  }
  throw corrupt(`its method ${method} is unknown`);
}

function corrupt(why: string): Error {
  return clickHouseException("CANNOT_DECOMPRESS", `A compressed block cannot be read: ${why}.`);
}
