/** Reads LZ4 frames as a stream (`Content-Encoding: lz4`). */
import { Transform, type TransformCallback } from "node:stream";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { Lz4FrameReader } from "../../lib/lz4-frames.ts";

/** Reads one or more consecutive frames. A stream that ends inside a frame is an error. */
export class Lz4Frames extends Transform {
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
