import { expect, test } from "vitest";
import { Bzip2Error, decompressBzip2 } from "./bzip2.ts";

/** The output of the bzip2 program for these texts. */
const hello = Buffer.from("QlpoOTFBWSZTWcHAgOIAAAFBAAAQAkSgADDNAMNGKZcXckU4UJDBwIDi", "base64");
const nothing = Buffer.from("QlpoORdyRThQkAAAAAA=", "base64");
const a = Buffer.from("QlpoOTFBWSZTWRmTm2sAAAABACAAIAAhGEaC7kinChIDMnNtYA==", "base64");

async function unpacked(...chunks: Buffer[]): Promise<string> {
  async function* source() {
    yield* chunks;
  }
  const parts: Buffer[] = [];
  for await (const part of decompressBzip2(source())) parts.push(part);
  return Buffer.concat(parts).toString();
}

test("one stream, several streams one after the other, an empty one, in chunks of any length", async () => {
  expect(await unpacked(hello)).toBe("hello\n");
  expect(await unpacked(nothing)).toBe("");
  expect(await unpacked(Buffer.concat([a, hello, nothing, a]))).toBe("ahello\na");
  const bytes = Buffer.concat([hello, a]);
  expect(await unpacked(...Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toBe("hello\na");
});

test("wrong and missing bytes are errors, never other data", async () => {
  for (let length = 0; length < hello.length; length += 1) {
    await expect(unpacked(hello.subarray(0, length)), `${length} bytes`).rejects.toThrow(Bzip2Error);
  }
  for (let at = 0; at < hello.length; at += 1) {
    const bytes = Buffer.from(hello);
    bytes[at] = (bytes[at] as number) ^ 0x10;
    // A few bits have no meaning: the text must be right, or there is an error.
    const text = await unpacked(bytes).catch((error: unknown) => error);
    if (text !== "hello\n") expect(text, `byte ${at}`).toBeInstanceOf(Bzip2Error);
  }
  await expect(unpacked(Buffer.concat([a, Buffer.from("garbage")]))).rejects.toThrow(/does not begin like it/);
  await expect(unpacked(Buffer.from("no bzip2"))).rejects.toThrow(/not valid bzip2/);
  await expect(unpacked()).rejects.toThrow(/empty/);
});
