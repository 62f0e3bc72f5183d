/** Decompression that the runtime lacks: SNAPPY, plain or framed by its Java library, and LZ4. */
import { createRequire } from "node:module";
import { unpackLz4Frames } from "../../../lib/lz4-frames.ts";
import { type Decompress, maxBatchBytes } from "./records.ts";

type Codecs = typeof import("@platformatic/wasm-utils");

/** Precedes SNAPPY blocks, each with its length. */
const frame = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const frameHeaderBytes = 16;

let loaded: Codecs | undefined;

/** Loaded with the first such batch, because most topics have none. */
function codecs(): Codecs {
  loaded ??= createRequire(import.meta.url)("@platformatic/wasm-utils") as Codecs;
  return loaded;
}

export const decompress: Decompress = {
  lz4: (data) => unpackLz4Frames(data, maxBatchBytes),
  snappy: (data) => {
    if (!data.subarray(0, frame.length).equals(frame)) return codecs().snappyDecompress(data);
    const blocks: Buffer[] = [];
    for (let at = frameHeaderBytes; at < data.length; ) {
      const size = data.readUInt32BE(at);
      blocks.push(Buffer.from(codecs().snappyDecompress(data.subarray(at + 4, at + 4 + size))));
      at += 4 + size;
    }
    return Buffer.concat(blocks);
  },
};
