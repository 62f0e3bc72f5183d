import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FileWorker } from "./file-worker.ts";

const mib = 1_048_576;
const key = randomBytes(32);
const worker = new FileWorker();
let dir: string;
let plain: string;
let sealed: string;
let opened: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-files-"));
  [plain, sealed, opened] = ["plain", "sealed", "opened"].map((name) => join(dir, name)) as [string, string, string];
});
afterAll(async () => {
  await worker.close();
  rmSync(dir, { recursive: true });
});

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("encrypted files", () => {
  test.each([0, 1, mib - 1, mib, mib + 1, 3 * mib])(
    "of %i bytes open to the same bytes, and state what is stored",
    async (size) => {
      const bytes = randomBytes(size);
      writeFileSync(plain, bytes);
      const facts = await worker.seal(plain, sealed, key, "f");
      const stored = readFileSync(sealed);
      expect(facts).toEqual({ size: stored.length, sha256: sha256(stored) });
      expect(await worker.hash(sealed)).toEqual(facts);
      expect(size < 16 || !stored.includes(bytes.subarray(0, 16))).toBe(true);
      expect(await worker.unseal(sealed, opened, key, "f")).toEqual({ size, sha256: sha256(bytes) });
      expect(readFileSync(opened).equals(bytes)).toBe(true);
    },
  );

  const chunk = mib + 16;
  test.each([
    ["a flipped bit", (b: Buffer) => flipped(b, b.length >> 1)],
    ["a flipped bit in the head", (b: Buffer) => flipped(b, 10)],
    ["the last chunk cut off", (b: Buffer) => b.subarray(0, 16 + 2 * chunk)],
    ["an end cut off", (b: Buffer) => b.subarray(0, -1)],
    ["all but the head cut off", (b: Buffer) => b.subarray(0, 16)],
    [
      "chunks in another order",
      (b: Buffer) =>
        Buffer.concat([
          b.subarray(0, 16),
          b.subarray(16 + chunk, 16 + 2 * chunk),
          b.subarray(16, 16 + chunk),
          b.subarray(16 + 2 * chunk),
        ]),
    ],
    ["something behind the end", (b: Buffer) => Buffer.concat([b, Buffer.alloc(20)])],
  ])("with %s do not open", async (_, damage) => {
    writeFileSync(plain, randomBytes(2 * mib + 100));
    await worker.seal(plain, sealed, key, "f");
    writeFileSync(sealed, damage(readFileSync(sealed)));
    await expect(worker.unseal(sealed, opened, key, "f")).rejects.toThrow();
  });

  test("do not open with another key or under another name, and are never the same twice", async () => {
    writeFileSync(plain, "same");
    const first = await worker.seal(plain, sealed, key, "f");
    await expect(worker.unseal(sealed, opened, randomBytes(32), "f")).rejects.toThrow();
    await expect(worker.unseal(sealed, opened, key, "g")).rejects.toThrow();
    expect((await worker.seal(plain, sealed, key, "f")).sha256).not.toBe(first.sha256);
  });

  test("that are missing reject with the system's code", async () => {
    await expect(worker.hash(join(dir, "nothing"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] as number) ^ 1;
  return bytes;
}
