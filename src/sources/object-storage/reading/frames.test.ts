import { expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { MemoryObjects } from "../../../../harness/objects/memory-store.ts";
import { AppError } from "../../../lib/errors.ts";
import { BrokenFrameError, wholeFrames } from "./frames.ts";
import { ObjectBridge } from "./object-bridge.ts";
import { ObjectStatements } from "./reading.ts";

/** The output of the programs for one short text; of LZ4 also with the checksum of each block, and with the size. */
const zstd = Buffer.from("KLUv/QRYbQAAOGhlbGxvIAoBADFKEaOqdM4=", "base64");
const zstdWithSize = Buffer.from("KLUv/SQSbQAAOGhlbGxvIAoBADFKEaOqdM4=", "base64");
const zstdPlain = Buffer.from("KLUv/QBYbQAAOGhlbGxvIAoBADFKEQ==", "base64");
const lz4 = Buffer.from("BCJNGGRApw8AAABjaGVsbG8gBgBQZWxsbwoAAAAAxlnYWw==", "base64");
const lz4Blocks = Buffer.from("BCJNGHBArQ8AAABjaGVsbG8gBgBQZWxsbwoEcE3HAAAAAA==", "base64");
const lz4WithSize = Buffer.from("BCJNGGxAEgAAAAAAAAAbDwAAAGNoZWxsbyAGAFBlbGxvCgAAAADGWdhb", "base64");
/** A frame that decoders pass over: three bytes of anything. */
const skippable = Buffer.from("5a2a4d1803000000ffffff", "hex");
const frames = [zstd, zstdWithSize, zstdPlain, lz4, lz4Blocks, lz4WithSize, skippable];

async function passed(...chunks: Buffer[]): Promise<Buffer> {
  async function* source() {
    yield* chunks;
  }
  const parts: Buffer[] = [];
  for await (const part of wholeFrames(source())) parts.push(part);
  return Buffer.concat(parts);
}

test("whole frames pass unchanged, alone and one after the other, in chunks of any length", async () => {
  for (const frame of frames) expect(await passed(frame)).toEqual(frame);
  const all = Buffer.concat(frames);
  expect(await passed(all)).toEqual(all);
  expect(await passed(...Array.from(all, (_, i) => all.subarray(i, i + 1)))).toEqual(all);
});

test("a frame that breaks off is an error wherever it does, also the second one", async () => {
  for (const [of, frame] of frames.entries()) {
    for (let length = 1; length < frame.length; length += 1) {
      const part = frame.subarray(0, length);
      await expect(passed(part), `${length} bytes of ${of}`).rejects.toThrow(BrokenFrameError);
      await expect(passed(zstd, part), `${length} bytes of ${of}`).rejects.toThrow(BrokenFrameError);
    }
  }
});

test("bytes of another kind are left to the engine", async () => {
  expect(String(await passed(zstd, Buffer.from("garbage")))).toContain("garbage");
  expect(String(await passed(Buffer.from('{"id": 1}')))).toBe('{"id": 1}');
});

test("a server that does not reach the bridge reads compressed objects by itself, except those that it cannot read", async () => {
  const listenForEngine = async () => {
    throw new AppError("DESTINATION_INVALID", "It is on another machine.");
  };
  const store = new MemoryObjects(new Map(), { perPage: 1, etagOf: (content) => content });
  const target = { database: "default", table: "t", columns: [{ name: "id", type: "Int64", sourceField: "id" }] };
  const statements = new ObjectStatements(
    store,
    new ObjectBridge(store, { ...anyNetwork, listenForEngine }),
    {},
    target,
  );
  const read = async (key: string) => {
    const options = { oneBlock: true, lenient: false, threads: 1 };
    const { signal } = new AbortController();
    return (await statements.insert([{ key, etag: "e", size: 1 }], "JSONEachRow", options, signal)).sql;
  };
  expect(await read("a.json.zst")).toContain("FROM memory(");
  expect(await read("a.json.lz4")).toContain("FROM memory(");
  await expect(read("a.json.bz2")).rejects.toThrow("another machine");
});
