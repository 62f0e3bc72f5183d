import { expect, test } from "vitest";
import { releaseBytes } from "./release-bytes.ts";

test("bytes that own their memory are gone at once", () => {
  const bytes = Buffer.alloc(1_000_000, 1);
  releaseBytes(bytes);
  expect(bytes.length).toBe(0);
  releaseBytes(bytes);
});

test("parts of a larger memory stay readable, and those beside them", () => {
  const large = Buffer.alloc(1_000_000, 1);
  const part = large.subarray(0, 999_999);
  releaseBytes(part);
  expect(part.length).toBe(999_999);
  expect(large[999_999]).toBe(1);
  const small = Buffer.from("a small one shares its memory with others");
  releaseBytes(small);
  expect(small.toString()).toContain("shares");
});

test("100 MB that were received and released cost no collection of the heap's memory", () => {
  const before = process.memoryUsage().arrayBuffers;
  for (let at = 0; at < 100; at += 1) releaseBytes(Buffer.alloc(1_000_000, at));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
});
