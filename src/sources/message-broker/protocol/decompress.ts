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

/** A SNAPPY block expands to at most this many times its size: a copy of three bytes stands for 64. */
const snappyExpansion = 22;

export const decompress: Decompress = {
  lz4: (data) => unpackLz4Frames(data, maxBatchBytes),
  snappy: (data) => {
    if (!data.subarray(0, frame.length).equals(frame)) return snappyBlock(data, maxBatchBytes);
    const blocks: Buffer[] = [];
    let bytes = 0;
    for (let at = frameHeaderBytes; at < data.length; ) {
      const size = data.readUInt32BE(at);
      const block = Buffer.from(snappyBlock(data.subarray(at + 4, at + 4 + size), maxBatchBytes - bytes));
      bytes += block.length;
      blocks.push(block);
      at += 4 + size;
    }
    return Buffer.concat(blocks, bytes);
  },
};

/** The library reserves as much memory as a block claims, and never returns it. */
function snappyBlock(data: Buffer, maxBytes: number): Buffer {
  const claimed = snappyLength(data);
  if (claimed > maxBytes || claimed > data.length * snappyExpansion) throw new Error("a block is too large");
  return codecs().snappyDecompress(data);
}

/** The length in front of a block: a varint of up to five bytes. */
function snappyLength(data: Buffer): number {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = data.readUInt8(at);
    length += (byte & 0x7f) * 128 ** at;
    if (byte < 0x80) return length;
  }
  throw new Error("a length of more than five bytes");
}
