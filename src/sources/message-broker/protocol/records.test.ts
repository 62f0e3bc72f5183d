import { createRecordsBatch } from "@platformatic/kafka";
import fc from "fast-check";
import { expect, test } from "vitest";
import { damagedBatch, emptyMessage, headersOf, offsetBehind, RecordCursor } from "./records.ts";

const decompress = { snappy: (data: Buffer) => data, lz4: (data: Buffer) => data };

type Written = { readonly key: string | null; readonly value: string | null; readonly header: string };

const written = fc.record({
  key: fc.option(fc.string({ maxLength: 9 })),
  value: fc.option(fc.oneof(fc.string({ maxLength: 40 }), fc.constant("long ".repeat(60)))),
  header: fc.string({ maxLength: 5 }),
});

/** Consecutive batches, as a broker stores them. */
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

function readAll(data: Buffer, from: number) {
  const cursor = new RecordCursor(data, from, [], decompress);
  const found: unknown[] = [];
  for (const message = emptyMessage("t", 0); cursor.read(message); ) {
    const { bytes, start, end, keyStart, keyEnd, position } = message;
    const text = (at: number, to: number) => (to < at ? null : bytes.subarray(at, to).toString());
    const header = headersOf(message)[0]?.value.toString();
    found.push({ position, key: text(keyStart, keyEnd), value: text(start, end), header });
  }
  return { found, next: cursor.next };
}

const someBatches = fc.array(fc.array(written, { minLength: 1, maxLength: 12 }), { maxLength: 5 });

test.each(["none", "gzip"] as const)("records are read from any offset (%s)", (compression) => {
  fc.assert(
    fc.property(someBatches, fc.nat({ max: 20 }), (parts, from) => {
      const all = parts.flat().map((message, position) => ({ position, ...message }));
      const { found, next } = readAll(batches(parts, compression), from);
      expect(found).toEqual(all.slice(from));
      expect(next).toBe(Math.max(from, all.length));
    }),
  );
});

test("an incomplete batch at the end is left for the next answer, which is asked for where the records end", () => {
  fc.assert(
    fc.property(someBatches, fc.nat({ max: 400 }), fc.nat({ max: 20 }), (parts, missing, from) => {
      const bytes = batches(parts, "none");
      const data = bytes.subarray(0, Math.max(0, bytes.length - missing));
      const { found, next } = readAll(data, from);
      const all = parts.flat().map((message, position) => ({ position, ...message }));
      expect(found).toEqual(all.slice(from, from + found.length));
      if (missing === 0) expect(found.length).toBe(Math.max(0, all.length - from));
      expect(offsetBehind(data, from)).toBe(next);
    }),
  );
});

test("records whose lengths lead out of their batch are refused, not read", () => {
  const bytes = batches([[{ key: "k", value: "x".repeat(200), header: "h" }]], "none");
  // The length of the record, after the head of the batch.
  bytes[62] = 0x7f;
  expect(() => readAll(bytes, 0)).toThrow(/truncated records/);
});

/** Vectors of RFC 3720 (B.4), as the content of a batch after its checksum. */
test.each([
  ["32 bytes of zeroes", Buffer.alloc(32), 0x8a9136aa],
  ["32 bytes of ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
  ["32 bytes that rise", Buffer.from(Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e],
  ["32 bytes that fall", Buffer.from(Array.from({ length: 32 }, (_, at) => 31 - at)), 0x113fdb5c],
])("the checksum is CRC-32C: %s", (_, content, checksum) => {
  // The shortest batch has 40 bytes after the checksum: the bytes after the vector complete it.
  const rest = Buffer.alloc(8);
  const batch = Buffer.concat([Buffer.alloc(21), content, rest]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch[16] = 2;
  batch.writeUInt32BE(continued(checksum, rest), 17);
  expect(damagedBatch(batch)).toBe(undefined);
  batch.writeUInt32BE((continued(checksum, rest) ^ 1) >>> 0, 17);
  expect(damagedBatch(batch)).toBe(0);
});

/** CRC-32C bit by bit, continued from a known checksum. */
function continued(checksum: number, bytes: Buffer): number {
  let crc = ~checksum;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

test("any changed bit behind the checksum is seen", () => {
  const data = batches([[{ key: "k", value: "value", header: "h" }], [{ key: null, value: "", header: "" }]], "none");
  const second = 12 + data.readInt32BE(8);
  expect(damagedBatch(data)).toBe(undefined);
  for (let bit = 8 * 17; bit < 8 * data.length; bit += 1) {
    const at = bit >> 3;
    if (at >= second && at < second + 17) continue;
    const changed = Buffer.from(data);
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (bit & 7)), at);
    expect(damagedBatch(changed), String(bit)).toBe(at < second ? 0 : 1);
  }
});

/** One batch with one record: these bytes after its own length. */
function hostileBatch(record: readonly number[], set: (batch: Buffer) => void = () => {}): Buffer {
  const batch = Buffer.alloc(61 + record.length);
  batch.writeInt32BE(batch.length - 12, 8);
  batch[16] = 2;
  batch.writeInt32BE(1, 57);
  Buffer.from(record).copy(batch, 61);
  set(batch);
  return batch;
}

/** Length, attributes, time, offset, no key, a value of one byte, no headers. */
const wholeRecord = [0x0e, 0, 0, 0, 1, 2, 0x78, 0];
const huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

test.each<[string, readonly number[], (batch: Buffer) => void]>([
  ["a record of a negative length, which would be read for ever", [0x01, ...wholeRecord.slice(1)], () => {}],
  ["a record without content", [0, 0, 0, 0, 0, 0, 0, 0], () => {}],
  ["a negative number of records", wholeRecord, (batch) => batch.writeInt32BE(-5, 57)],
  ["more records than bytes", wholeRecord, (batch) => batch.writeInt32BE(2 ** 31 - 1, 57)],
  ["a key that is longer than its record", [0x0e, 0, 0, 0, 0x7e, 2, 0x78, 0], () => {}],
  ["a value that is longer than its record", [0x0e, 0, 0, 0, 1, 0x7e, 0x78, 0], () => {}],
  ["a value of 2^62 bytes", [0x26, 0, 0, 0, 1, ...huge, 0, 0, 0, 0, 0], () => {}],
  ["a number of eleven bytes", [...Array(10).fill(0xff), 0xff, 0x01], () => {}],
  ["an offset behind the last one of the batch", [0x0e, 0, 0, 2, 1, 2, 0x78, 0], () => {}],
  ["an offset before the first one of the batch", [0x0e, 0, 0, 1, 1, 2, 0x78, 0], () => {}],
  ["a last offset before the first", wholeRecord, (batch) => batch.writeInt32BE(-1, 23)],
  ["a negative offset", wholeRecord, (batch) => batch.writeBigInt64BE(-7n, 0)],
  ["an offset that no number holds", wholeRecord, (batch) => batch.writeBigInt64BE(2n ** 63n - 1n, 0)],
])("%s is refused, whatever the checksum says", (_, record, set) => {
  expect(() => readAll(hostileBatch(record, set), 0)).toThrow(/truncated records/);
});

test("the batch of those lies is read without them", () => {
  expect(readAll(hostileBatch(wholeRecord), 0).found).toMatchObject([{ position: 0, value: "x" }]);
});

test.each([
  ["a number of headers", [0x16, 0, 0, 0, 1, 2, 0x78, 0xfe, 0xff, 0xff, 0x0f, 0]],
  ["a header's name", [0x14, 0, 0, 0, 1, 2, 0x78, 2, 0x7e, 0x61, 0]],
])("%s beyond the record takes no memory", (_, record) => {
  expect(() => readAll(hostileBatch(record), 0)).toThrow(/truncated records/);
});

test("a control batch without a record is passed", () => {
  const control = hostileBatch([], (batch) => batch.writeInt16BE(0x20, 21));
  expect(readAll(control, 0)).toEqual({ found: [], next: 1 });
});

test("any bytes end in records or an error", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.nat({ max: 3 }),
      fc.integer({ min: -2, max: 9 }),
      (record, last, count) => {
        const batch = hostileBatch([...record], (bytes) => {
          bytes.writeInt32BE(last, 23);
          bytes.writeInt32BE(count, 57);
        });
        try {
          for (const { position } of readAll(batch, 0).found as { position: number }[]) {
            expect(position).toBeLessThanOrEqual(last);
          }
        } catch (error) {
          expect(error).toMatchObject({ code: "SOURCE_INVALID" });
        }
      },
    ),
    { numRuns: 3_000 },
  );
});
