/** Compressed records of a hostile producer or broker. */
import { snappyCompress } from "@platformatic/wasm-utils";
import { expect, test } from "vitest";
import { decompress } from "./decompress.ts";

const text = Buffer.from("some text, some text, some text");
const snappy = Buffer.from(snappyCompress(text));

/** Blocks in the framing of the Java library. */
function framed(...blocks: readonly Buffer[]): Buffer {
  const parts = blocks.flatMap((block) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(block.length);
    return [size, block];
  });
  return Buffer.concat([Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]), ...parts]);
}

test("blocks are read, with and without framing", () => {
  expect(Buffer.from(decompress.snappy(snappy))).toEqual(text);
  expect(Buffer.from(decompress.snappy(framed(snappy, snappy)))).toEqual(Buffer.concat([text, text]));
});

/** A block that claims to have 2^32 - 1 bytes. */
const liar = Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]), snappy.subarray(1)]);

test.each([
  ["a block that claims 4 GiB", liar],
  ["such a block in a frame", framed(snappy, liar)],
  ["a length without an end", Buffer.alloc(9, 0xff)],
  ["nothing", Buffer.alloc(0)],
])("%s is refused before it takes memory", (_, data) => {
  expect(() => decompress.snappy(data)).toThrow(/too large|five bytes|out of range|outside/);
});

test("what follows a refused block is read", () => {
  for (let cut = 1; cut < snappy.length; cut += 1) {
    expect(() => decompress.snappy(snappy.subarray(0, cut))).toThrow();
  }
  expect(Buffer.from(decompress.snappy(snappy))).toEqual(text);
});
