/** The beginning of a body over real connections. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { compressFrameSync } from "lz4-napi";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BodyPrefix } from "./body-prefix.ts";

const mib = 1_048_576;
const spaces = Buffer.alloc(64 * mib, " ");

/** One of ClickHouse's own compressed blocks, without a valid checksum, which is the engine's to verify. */
function block(plain: Buffer): Buffer {
  const data = zstdCompressSync(plain);
  const head = Buffer.alloc(25);
  head[16] = 0x90;
  head.writeUInt32LE(data.length + 9, 17);
  head.writeUInt32LE(plain.length, 21);
  return Buffer.concat([head, data]);
}

let handle: (message: IncomingMessage) => Promise<void>;
const server = createServer((message, response) => {
  handle(message).then(
    () => response.end("ok"),
    (error: Error) => response.end(error.message),
  );
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => server.close());

test.each([
  ["br", brotliCompressSync(spaces), 2 * mib],
  ["zstd", zstdCompressSync(spaces), 2 * mib],
  ["gzip", gzipSync(spaces), 2 * mib],
  // The decoder works by blocks, here of 4 MiB.
  ["lz4", compressFrameSync(spaces), 6 * mib],
  ["blocks", Buffer.concat(Array.from({ length: 64 }, () => block(spaces.subarray(0, mib)))), 2 * mib],
] as const)("of a small body in %s that decodes to 64 MiB, only a little is decoded", async (encoding, body, most) => {
  let decoded = 0;
  let isWhole = true;
  handle = async (message) => {
    const prefix = new BodyPrefix(message, encoding === "blocks");
    await prefix.read(spaces.length + 1);
    decoded = prefix.bytes().length;
    isWhole = prefix.ended;
    message.resume();
  };
  const headers: Record<string, string> = encoding === "blocks" ? {} : { "content-encoding": encoding };
  expect(await (await fetch(url, { method: "POST", body, headers })).text()).toBe("ok");
  expect(decoded).toBeGreaterThanOrEqual(mib);
  expect(decoded).toBeLessThanOrEqual(most);
  expect(isWhole).toBe(false);
});

test.each([
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
  ["gzip", gzipSync],
  ["lz4", compressFrameSync],
  ["blocks", block],
] as const)("a statement in %s is decoded whole", async (encoding, compress) => {
  let statement = "";
  handle = async (message) => {
    const prefix = new BodyPrefix(message, encoding === "blocks");
    await prefix.read(mib);
    statement = prefix.ended ? prefix.bytes().toString() : "not whole";
  };
  const headers: Record<string, string> = encoding === "blocks" ? {} : { "content-encoding": encoding };
  const body = compress(Buffer.from("SELECT 1"));
  expect(await (await fetch(url, { method: "POST", body, headers })).text()).toBe("ok");
  expect(statement).toBe("SELECT 1");
});
