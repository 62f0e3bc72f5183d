/**
 * Reads LZ4 frames as a stream (`Content-Encoding: lz4`), on the block functions of the binding, which has frames only as
 * whole buffers. Linked blocks, as the reference library writes them by default, are read with their 64 KiB of history.
 */
import { Transform, type TransformCallback } from "node:stream";
import { uncompressSync } from "lz4-napi";
import { clickHouseException } from "../../clickhouse/exception.ts";

const magic = 0x184d2204;
const maxHistory = 65_536;
const uncompressedFlag = 0x80000000;

type FrameInfo = { linked: boolean; blockChecksum: boolean; contentChecksum: boolean; maxBlock: number };

/** Reads one or more frames after each other. A stream that ends inside a frame is an error. */
export class Lz4Frames extends Transform {
  #held: Buffer = Buffer.alloc(0);
  #frame: FrameInfo | undefined;
  #history: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    try {
      while (this.#frame === undefined ? this.#readHeader() : this.#readBlock(this.#frame));
      done();
    } catch (error) {
      done(clickHouseException("CANNOT_DECOMPRESS", "The LZ4 frame cannot be decompressed.", { cause: error }));
    }
  }

  override _flush(done: TransformCallback): void {
    const whole = this.#frame === undefined && this.#held.length === 0;
    done(whole ? null : clickHouseException("CANNOT_DECOMPRESS", "The body ends inside an LZ4 frame."));
  }

  #readHeader(): boolean {
    if (this.#held.length < 7) return false;
    if (this.#held.readUInt32LE(0) !== magic) throw new Error("not an LZ4 frame");
    const flags = this.#held[4] as number;
    const size = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
    if (this.#held.length < size) return false;
    if (flags >> 6 !== 1 || flags & 0x01) throw new Error("unknown version or dictionary");
    this.#frame = {
      linked: (flags & 0x20) === 0,
      blockChecksum: (flags & 0x10) !== 0,
      contentChecksum: (flags & 0x04) !== 0,
      maxBlock: 1 << (8 + 2 * (((this.#held[5] as number) >> 4) & 0x07)),
    };
    this.#held = this.#held.subarray(size);
    return true;
  }

  #readBlock(frame: FrameInfo): boolean {
    if (this.#held.length < 4) return false;
    const word = this.#held.readUInt32LE(0);
    if (word === 0) return this.#readEnd(frame);
    const size = word & 0x7fffffff;
    const total = 4 + size + (frame.blockChecksum ? 4 : 0);
    if (size > frame.maxBlock) throw new Error("a block is too large");
    if (this.#held.length < total) return false;
    const data = this.#held.subarray(4, 4 + size);
    const plain = word & uncompressedFlag ? data : this.#unpack(data, frame);
    if (frame.linked) this.#history = Buffer.concat([this.#history, plain]).subarray(-maxHistory);
    this.push(plain);
    this.#held = this.#held.subarray(total);
    return true;
  }

  #unpack(data: Buffer, frame: FrameInfo): Buffer {
    const prefixed = Buffer.allocUnsafe(4 + data.length);
    prefixed.writeUInt32LE(frame.maxBlock, 0);
    data.copy(prefixed, 4);
    return frame.linked && this.#history.length > 0
      ? uncompressSync(prefixed, this.#history)
      : uncompressSync(prefixed);
  }

  #readEnd(frame: FrameInfo): boolean {
    const size = 4 + (frame.contentChecksum ? 4 : 0);
    if (this.#held.length < size) return false;
    this.#held = this.#held.subarray(size);
    this.#frame = undefined;
    this.#history = Buffer.alloc(0);
    return this.#held.length > 0;
  }
}
