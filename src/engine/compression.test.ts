import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { compressFrameSync, decompressFrameSync } from "lz4-napi";
import { describe, expect, test } from "vitest";
import { cityHash128 } from "./cityhash.ts";
import { chooseEncoding } from "./content-encoding.ts";
import { Lz4FrameCompressor, Lz4FrameDecompressor } from "./lz4-frame.ts";
import { BlockCompressor, BlockDecompressor } from "./native-blocks.ts";

const text = Buffer.from(Array.from({ length: 60_000 }, (_, i) => `row ${i}\n`).join(""));
/** Cuts a buffer into pieces that end at awkward places. */
const pieces = (data: Buffer) =>
  Readable.from(Array.from({ length: Math.ceil(data.length / 777) }, (_, i) => data.subarray(i * 777, (i + 1) * 777)));

// Larger data than most tests have: a busy machine needs its time.
describe("native blocks", { timeout: 60_000 }, () => {
  test.each([text, randomBytes(3_000_000), Buffer.from("x"), Buffer.alloc(0)])("round trip %#", async (plain) => {
    const packed = await buffer(Readable.from([plain]).pipe(new BlockCompressor()));
    expect((await buffer(pieces(packed).pipe(new BlockDecompressor()))).equals(plain)).toBe(true);
  });
  test("the checksum is the engine's own", () => {
    // The published value of version 1.0.2; test/real/engine checks column files that the engine wrote.
    expect(cityHash128(Buffer.alloc(0)).toString("hex")).toBe("2b9ac064fc9df03d291ee592c340b53c");
  });
});

describe("LZ4 frames", () => {
  test.each([text, randomBytes(700_000)])("are what other libraries read, and the other way %#", async (plain) => {
    const packed = await buffer(pieces(plain).pipe(new Lz4FrameCompressor()));
    expect(decompressFrameSync(packed).equals(plain)).toBe(true);
    const theirs = compressFrameSync(plain, { contentChecksum: true, blockChecksums: true });
    expect((await buffer(pieces(theirs).pipe(new Lz4FrameDecompressor()))).equals(plain)).toBe(true);
  });
  test("a cut frame is an error", async () => {
    const packed = compressFrameSync(text);
    await expect(buffer(pieces(packed.subarray(0, -5)).pipe(new Lz4FrameDecompressor()))).rejects.toThrow(
      /ends inside/,
    );
  });
});

test.each([
  ["gzip, br", "gzip"],
  ["x, zstd;q=0, br;q=0.5", "br"],
  ["", undefined],
  ["constructor", undefined],
])("of %j we choose %s", (header, name) => {
  expect(chooseEncoding(header)?.name).toBe(name);
});
