import { createRecordsBatch } from "@platformatic/kafka";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Scratch } from "./pieces.ts";
import { emptyMessage, headersOf, RecordCursor } from "./records.ts";

const decompress = { snappy: (data: Buffer) => data, lz4: (data: Buffer) => data };

type Written = { readonly key: string | null; readonly value: string | null; readonly header: string };

const written = fc.record({
  key: fc.option(fc.string({ maxLength: 9 })),
  value: fc.option(fc.oneof(fc.string({ maxLength: 40 }), fc.constant("long ".repeat(60)))),
  header: fc.string({ maxLength: 5 }),
});

/** One after the other, as a broker stores them. */
function batches(parts: readonly (readonly Written[])[], compression: "none" | "gzip"): Buffer {
  let offset = 0;
  const made = parts.map((messages) => {
    const batch = createRecordsBatch(
      messages.map(({ key, value, header }) => ({
        topic: "t",
        key: (key === null ? null : Buffer.from(key)) as Buffer,
        value: (value === null ? null : Buffer.from(value)) as Buffer,
        headers: new Map([[Buffer.from("h"), Buffer.from(header)]]),
        timestamp: 7n,
      })),
      { compression },
    ).buffer;
    batch.writeBigInt64BE(BigInt(offset), 0);
    offset += messages.length;
    return Buffer.from(batch);
  });
  return Buffer.concat(made);
}

function readAll(pieces: readonly Buffer[], from: number) {
  const cursor = new RecordCursor(pieces, from, [], decompress, new Scratch());
  const found: unknown[] = [];
  for (const message = emptyMessage("t", 0); cursor.read(message); ) {
    const { bytes, start, end, keyStart, keyEnd, position } = message;
    const text = (at: number, to: number) => (to < at ? null : bytes.subarray(at, to).toString());
    const header = headersOf(message)[0]?.value.toString();
    found.push({ position, key: text(keyStart, keyEnd), value: text(start, end), header });
  }
  return { found, next: cursor.next };
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

const someBatches = fc.array(fc.array(written, { minLength: 1, maxLength: 12 }), { maxLength: 5 });
const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 });

test.each(["none", "gzip"] as const)("records are the same wherever an answer is cut (%s)", (compression) => {
  fc.assert(
    fc.property(someBatches, sizes, fc.nat({ max: 20 }), (parts, cuts, from) => {
      const all = parts.flat().map((message, position) => ({ position, ...message }));
      const { found, next } = readAll(cut(batches(parts, compression), cuts), from);
      expect(found).toEqual(all.slice(from));
      expect(next).toBe(Math.max(from, all.length));
    }),
  );
});

test("an incomplete batch at the end is left for the next answer", () => {
  fc.assert(
    fc.property(someBatches, sizes, fc.nat({ max: 400 }), (parts, cuts, missing) => {
      const bytes = batches(parts, "none");
      const { found } = readAll(cut(bytes.subarray(0, Math.max(0, bytes.length - missing)), cuts), 0);
      const all = parts.flat().map((message, position) => ({ position, ...message }));
      expect(found).toEqual(all.slice(0, found.length));
      if (missing === 0) expect(found.length).toBe(all.length);
    }),
  );
});

test("records whose lengths lead out of their batch are refused, not read", () => {
  const bytes = batches([[{ key: "k", value: "x".repeat(200), header: "h" }]], "none");
  // The length of the record, behind the head of the batch.
  bytes[62] = 0x7f;
  for (const size of [1, 50, 70, 1000]) expect(() => readAll(cut(bytes, [size]), 0)).toThrow(/break off/);
});
