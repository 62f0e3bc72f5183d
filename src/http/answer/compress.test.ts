import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gzipped, isWorthIt, wantsGzip } from "./compress.ts";

test.each([
  ["gzip", true],
  ["br, GZIP;q=0.5", true],
  ["*", true],
  ["*;q=0, gzip", true],
  ["gzip;q=0", false],
  ["gzip; q=0.0, *", false],
  ["br, identity", false],
  ["", false],
  [undefined, false],
])("Accept-Encoding %j wants gzip: %s", (header, wanted) => {
  expect(wantsGzip(header)).toBe(wanted);
});

test("what fits into a packet is not worth it", () => {
  expect([isWorthIt(["x".repeat(1399)]), isWorthIt(["x".repeat(1399), Buffer.from("y")])]).toEqual([false, true]);
});

test("the text comes out as it went in; a source that fails breaks the answer off, and one that is left is ended", async () => {
  const pieces = Array.from({ length: 1000 }, (_, i) => `row ${i}\n`);
  expect(gunzipSync(await buffer(gzipped(Readable.from(pieces)))).toString()).toBe(pieces.join(""));
  const failing = new Readable({ read() {} });
  const answer = gzipped(failing);
  const read = buffer(answer);
  failing.destroy(new Error("the engine broke off"));
  await expect(read).rejects.toThrow("the engine broke off");
  const left = new Readable({ read() {} });
  const abandoned = gzipped(left);
  const ended = new Promise((resolve) => left.once("close", resolve));
  abandoned.destroy();
  await ended;
});
