import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregated } from "../../../../harness/kinesis/pipes.ts";
import { deaggregate } from "./aggregation.ts";

const magic = Buffer.from([0xf3, 0x89, 0x9a, 0xc2]);
/** The library sorts numeric keys differently from how it counts them. */
const keys = fc.string({ maxLength: 20 }).map((text) => `k${text}`);
const framed = (message: Buffer) => Buffer.concat([magic, message, createHash("md5").update(message).digest()]);

test("what the AWS library aggregates comes back: keys, bytes and order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: keys, bytes: fc.uint8Array({ minLength: 1 }) }), {
        minLength: 1,
        maxLength: 50,
      }),
      (list) => {
        const records = list.map(({ key, bytes }) => ({ key, data: Buffer.from(bytes) }));
        const found = deaggregate(aggregated(records).Data)?.map(({ key, data }) => ({ key, data: Buffer.from(data) }));
        expect(found).toEqual(records);
      },
    ),
    { numRuns: 50 },
  );
});

test("a record with any bit changed is not an aggregated record", () => {
  const { Data } = aggregated([
    { key: "a", data: Buffer.from("one") },
    { key: "b", data: Buffer.from("two") },
  ]);
  for (let bit = 0; bit < Data.length * 8; bit += 1) {
    const changed = Buffer.from(Data);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(deaggregate(changed)).toBeUndefined();
  }
});

test("whatever stands behind the magic bytes, with a right sum, does no harm", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const records = deaggregate(framed(Buffer.from(bytes)));
      for (const { key, data } of records ?? []) expect([typeof key, data.length >= 0]).toEqual(["string", true]);
    }),
    { numRuns: 2_000 },
  );
  // A length beyond the end, a missing key, and a number of more than 64 bits.
  expect(deaggregate(framed(Buffer.from([0x1a, 0x7f, 1])))).toBeUndefined();
  expect(deaggregate(framed(Buffer.from([0x1a, 0x05, 0x08, 9, 0x1a, 1, 65])))).toBeUndefined();
  expect(deaggregate(framed(Buffer.alloc(12, 0xff)))).toBeUndefined();
});

test("plain records, also short ones, are none", () => {
  for (const text of ["", "x", `{"id":1}`]) expect(deaggregate(Buffer.from(text))).toBeUndefined();
  expect(deaggregate(magic)).toBeUndefined();
});
