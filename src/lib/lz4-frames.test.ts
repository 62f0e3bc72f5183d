import { lz4Compress } from "@platformatic/wasm-utils";
import fc from "fast-check";
import { compressFrameSync, compressSync } from "lz4-napi";
import { expect, test } from "vitest";
import { Lz4FrameReader, unpackLz4Frames } from "./lz4-frames.ts";

/** A frame of linked blocks: each refers to the 64 KiB before it. */
function linkedFrame(plain: Buffer, blockBytes: number): Buffer {
  const parts = [word(0x184d2204), Buffer.from([0x40, 0x40, 0xc0])];
  for (let at = 0; at < plain.length; at += blockBytes) {
    const block = compressSync(plain.subarray(at, at + blockBytes), plain.subarray(Math.max(0, at - 65_536), at));
    // Without the size that the binding prepends.
    parts.push(word(block.length - 4), block.subarray(4));
  }
  return Buffer.concat([...parts, word(0)]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const makers = [
  ["of the binding", (plain: Buffer) => compressFrameSync(plain)],
  ["with checksums", (plain: Buffer) => compressFrameSync(plain, { contentChecksum: true, blockChecksums: true })],
  ["of another library", (plain: Buffer) => Buffer.from(lz4Compress(plain))],
  ["with linked blocks", (plain: Buffer) => linkedFrame(plain, 50_000)],
  [
    "two of them",
    (plain: Buffer) => Buffer.concat([compressFrameSync(plain.subarray(0, 9)), compressFrameSync(plain.subarray(9))]),
  ],
] as const;

const texts = fc
  .array(fc.tuple(fc.string({ maxLength: 30 }), fc.nat(4_000)), { minLength: 1, maxLength: 20 })
  .map((parts) => Buffer.from(parts.map(([text, times]) => `${text}.`.repeat(times + 1)).join("")));

test.each(makers)("frames %s are read whole and in pieces", (_, make) => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 5_000 }), (plain, piece) => {
      const frame = make(plain);
      expect(unpackLz4Frames(frame, plain.length).equals(plain)).toBe(true);
      const reader = new Lz4FrameReader();
      const found: Buffer[] = [];
      for (let at = 0; at < frame.length; at += piece) {
        for (const block of reader.read(frame.subarray(at, at + piece))) found.push(block);
      }
      expect(Buffer.concat(found).equals(plain)).toBe(true);
      expect(reader.isDone).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test("what is cut off, too large or no frame is refused", () => {
  const plain = Buffer.alloc(300_000, "x");
  const frame = compressFrameSync(plain);
  expect(() => unpackLz4Frames(frame.subarray(0, -1), plain.length)).toThrow(/too early/);
  expect(() => unpackLz4Frames(frame, plain.length - 1)).toThrow(/too large/);
  expect(() => unpackLz4Frames(Buffer.from("no frame at all"), 10)).toThrow(/not an LZ4 frame/);
});

test("a frame of a million tiny linked blocks costs as much as its bytes", () => {
  const blocks = 1_000_000;
  const body = Buffer.alloc(5 * blocks);
  for (let at = 0; at < body.length; at += 5) {
    body.writeUInt32LE(0x80000001, at);
    body[at + 4] = at & 0xff;
  }
  const frame = Buffer.concat([word(0x184d2204), Buffer.from([0x40, 0x40, 0xc0]), body, word(0)]);
  const plain = unpackLz4Frames(frame, blocks);
  expect(plain.length).toBe(blocks);
  expect([plain[1], plain[blocks - 1]]).toEqual([5, (5 * (blocks - 1)) & 0xff]);
  expect(() => unpackLz4Frames(frame, blocks - 1)).toThrow(/too large/);
});
