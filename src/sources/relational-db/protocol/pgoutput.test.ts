import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, PgoutputError } from "./pgoutput.ts";
import { type Tuple, tupleOf, unchanged } from "./tuple.ts";

/** Bytes from letters, texts with a zero byte, and big-endian numbers. */
type PageRange = string | { u8: number } | { i16: number } | { i32: number } | { i64: bigint } | { z: string } | Tuple;

function bytes(...parts: PageRange[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(part, "latin1");
      if ("message" in part) return Buffer.concat([bytes({ i16: part.size }), part.message]);
      if ("z" in part) return Buffer.from(`${part.z}\0`);
      if ("u8" in part) return Buffer.of(part.u8);
      const buffer = Buffer.alloc("i16" in part ? 2 : "i32" in part ? 4 : 8);
      if ("i16" in part) buffer.writeInt16BE(part.i16);
      else if ("i32" in part) buffer.writeInt32BE(part.i32);
      else buffer.writeBigInt64BE(part.i64);
      return buffer;
    }),
  );
}

/** The texts of a tuple, as strings. */
function texts(tuple: Tuple | undefined): unknown[] {
  return Array.from({ length: tuple?.size ?? 0 }, (_, index) => {
    const value = tuple?.bytes(index);
    return Buffer.isBuffer(value) ? value.toString() : value === unchanged ? "unchanged" : value;
  });
}

const relation = bytes("R", { i32: 16_400 }, { z: "public" }, { z: "täble" }, "d", { i16: 2 }).toString("latin1");
const columns = [{ u8: 1 }, { z: "id" }, { i32: 23 }, { i32: -1 }, { u8: 0 }, { z: "note" }, { i32: 25 }, { i32: 9 }];

/** One good message of every kind; `xid` says that it stands within a stream. */
const samples: { name: string; message: Buffer; streaming?: boolean }[] = [
  { name: "begin", message: bytes("B", { i64: 0x16_b374d848n }, { i64: 1_000_000n }, { i32: 731 }) },
  { name: "commit", message: bytes("C", { u8: 0 }, { i64: 10n }, { i64: 11n }, { i64: 0n }) },
  { name: "origin", message: bytes("O", { i64: 12n }, { z: "elsewhere" }) },
  { name: "relation", message: bytes(relation, ...columns) },
  { name: "type", message: bytes("Y", { i32: 16_500 }, { z: "public" }, { z: "mood" }) },
  { name: "insert", message: bytes("I", { i32: 16_400 }, "N", tupleOf(["1", null])) },
  { name: "update", message: bytes("U", { i32: 16_400 }, "N", tupleOf(["1", unchanged])) },
  { name: "update with key", message: bytes("U", { i32: 7 }, "K", tupleOf(["1", null]), "N", tupleOf(["2", "x"])) },
  { name: "update with old row", message: bytes("U", { i32: 7 }, "O", tupleOf(["1", "y"]), "N", tupleOf(["1", "x"])) },
  { name: "delete by key", message: bytes("D", { i32: 7 }, "K", tupleOf(["1", null])) },
  { name: "delete with old row", message: bytes("D", { i32: 7 }, "O", tupleOf(["1", "y"])) },
  { name: "truncate", message: bytes("T", { i32: 2 }, { u8: 3 }, { i32: 7 }, { i32: 8 }) },
  { name: "message", message: bytes("M", { u8: 1 }, { i64: 13n }, { z: "beat" }, { i32: 3 }, "abc") },
  { name: "stream start", message: bytes("S", { i32: 731 }, { u8: 1 }) },
  { name: "stream stop", message: bytes("E") },
  { name: "stream commit", message: bytes("c", { i32: 731 }, { u8: 0 }, { i64: 1n }, { i64: 2n }, { i64: 3n }) },
  { name: "stream abort", message: bytes("A", { i32: 731 }, { i32: 732 }) },
  { name: "streamed insert", streaming: true, message: bytes("I", { i32: 731 }, { i32: 7 }, "N", tupleOf(["1"])) },
  { name: "streamed truncate", streaming: true, message: bytes("T", { i32: 731 }, { i32: 1 }, { u8: 0 }, { i32: 7 }) },
];

const sample = (name: string) => {
  const found = samples.find((each) => each.name === name);
  return decode(found?.message as Buffer, found?.streaming);
};

describe("decode", () => {
  test("transaction bounds carry 64-bit positions and times of the Unix epoch", () => {
    expect(sample("begin")).toEqual({
      kind: "begin",
      finalLsn: 0x16_b374d848n,
      time: 946_684_801_000_000n,
      xid: 731,
    });
    expect(sample("commit")).toEqual({ kind: "commit", commitLsn: 10n, endLsn: 11n, time: 946_684_800_000_000n });
    expect(decode(bytes("B", { i64: -1n }, { i64: 0n }, { i32: -1 }))).toMatchObject({
      finalLsn: 2n ** 64n - 1n,
      xid: 2 ** 32 - 1,
    });
  });

  test("relations name columns with their key flag, type and modifier", () => {
    const decoded = decode(
      Buffer.concat([
        bytes("R", { i32: 16_400 }, { z: "" }, { z: "täble" }, "f", { i16: 2 }),
        bytes(...columns.slice(0, 4)),
        bytes(...columns.slice(4)),
      ]),
    );
    expect(decoded).toEqual({
      kind: "relation",
      oid: 16_400,
      schema: "pg_catalog",
      name: "täble",
      replicaIdentity: "f",
      columns: [
        { key: true, name: "id", typeOid: 23, typmod: -1 },
        { key: false, name: "note", typeOid: 25, typmod: 9 },
      ],
    });
    expect(sample("type")).toEqual({ kind: "type", oid: 16_500, schema: "public", name: "mood" });
    expect(sample("origin")).toEqual({ kind: "origin", lsn: 12n, name: "elsewhere" });
  });

  test("rows tell NULL, empty, text and unchanged apart", () => {
    const row = tupleOf(["", null, "täxt\0", unchanged]);
    const decoded = decode(bytes("I", { i32: 7 }, "N", row));
    expect(decoded.kind === "insert" && texts(decoded.row)).toEqual(["", null, "täxt\0", "unchanged"]);
    expect(decoded.kind === "insert" && decoded.row.hasUnchanged()).toBe(true);
  });

  test("updates and deletes keep the old key and the old row apart", () => {
    const parts = (name: string) => {
      const { kind, relation, row, key, old } = sample(name) as never as Record<"row" | "key" | "old", Tuple> & {
        kind: string;
        relation: number;
      };
      return { kind, relation, row: row && texts(row), key: key && texts(key), old: old && texts(old) };
    };
    expect(parts("update")).toEqual({ kind: "update", relation: 16_400, row: ["1", "unchanged"] });
    expect(parts("update with key")).toEqual({ kind: "update", relation: 7, row: ["2", "x"], key: ["1", null] });
    expect(parts("update with old row")).toEqual({ kind: "update", relation: 7, row: ["1", "x"], old: ["1", "y"] });
    expect(parts("delete by key")).toEqual({ kind: "delete", relation: 7, key: ["1", null] });
    expect(parts("delete with old row")).toEqual({ kind: "delete", relation: 7, old: ["1", "y"] });
  });

  test("truncates and logical messages", () => {
    expect(sample("truncate")).toEqual({ kind: "truncate", relations: [7, 8], cascade: true, restartIdentity: true });
    expect(sample("message")).toEqual({
      kind: "message",
      transactional: true,
      lsn: 13n,
      prefix: "beat",
      content: Buffer.from("abc"),
    });
  });

  test("within a stream messages carry their transaction", () => {
    expect(sample("streamed insert")).toMatchObject({ kind: "insert", xid: 731, relation: 7 });
    expect(sample("streamed truncate")).toMatchObject({ kind: "truncate", xid: 731, relations: [7] });
    expect(sample("stream start")).toEqual({ kind: "streamStart", xid: 731, first: true });
    expect(sample("stream stop")).toEqual({ kind: "streamStop" });
    expect(sample("stream abort")).toEqual({ kind: "streamAbort", xid: 731, subxid: 732 });
    const parallel = bytes("A", { i32: 731 }, { i32: 732 }, { i64: 5n }, { i64: 6n });
    expect(decode(parallel)).toEqual({ kind: "streamAbort", xid: 731, subxid: 732 });
    expect(sample("stream commit")).toMatchObject({ kind: "streamCommit", xid: 731, commitLsn: 1n, endLsn: 2n });
  });

  test("values are views on the message, not copies", () => {
    const message = bytes("I", { i32: 7 }, "N", tupleOf(["abc"]));
    const decoded = decode(message);
    message.write("xyz", message.length - 3);
    expect(decoded.kind === "insert" && texts(decoded.row)).toEqual(["xyz"]);
  });
});

describe("malformed bytes", () => {
  test.each(samples)("$name: cut off anywhere or with bytes left over is refused", ({ message, streaming }) => {
    for (let length = 0; length < message.length; length += 1) {
      expect(() => decode(message.subarray(0, length), streaming), `${length} bytes`).toThrow(PgoutputError);
    }
    expect(() => decode(Buffer.concat([message, Buffer.of(0)]), streaming)).toThrow(/left over|does not fit/);
  });

  test("the error says which message, where and what", () => {
    expect(() => decode(bytes("I", { i32: 7 }, "N", { i16: 1 }, "t", { i32: 100 }, "ab"))).toThrow(
      "A message of kind I and 15 bytes is malformed at byte 13: a value of 100 bytes does not fit into the 2 left",
    );
    expect(() => decode(bytes("I", { i32: 7 }, "N", { i16: 1 }, "t", { i32: -5 }))).toThrow("-5 bytes cannot be");
    expect(() => decode(bytes("I", { i32: 7 }, "N", { i16: 1 }, "b", { i32: 0 }))).toThrow("value 0 is of kind b");
    expect(() => decode(bytes("I", { i32: 7 }, "K", { i16: 0 }))).toThrow("begins with N here");
    expect(() => decode(bytes("D", { i32: 7 }, "N", { i16: 0 }))).toThrow("begins with K or O here");
    expect(() => decode(bytes("Z"))).toThrow("no such message");
    expect(() => decode(Buffer.alloc(0))).toThrow("An empty message");
    expect(() => decode(bytes("T", { i32: -1 }, { u8: 0 }))).toThrow("does not fit");
    expect(() => decode(bytes("R", { i32: 7 }, { z: "" }, { z: "t" }, "x", { i16: 0 }))).toThrow("replica identity");
    expect(() => decode(bytes("R", { i32: 7 }, { z: "" }, { z: "t" }, "d", { i16: -1 }))).toThrow("does not fit");
    expect(() => decode(bytes("M", { u8: 0 }, { i64: 1n }, { z: "p" }, { i32: -1 }))).toThrow("cannot be");
  });

  test("random and damaged bytes end in a message or in this error, and no value reaches beyond", () => {
    const any = fc.tuple(fc.constantFrom(...Buffer.from("BCORYIUDTMSEcAZ\0")), fc.uint8Array({ maxLength: 80 }));
    const random = any.map(([kind, rest]) => Buffer.from([kind, ...rest]));
    const damaged = fc
      .tuple(fc.constantFrom(...samples.map(({ message }) => message)), fc.nat(200), fc.nat(255))
      .map(([message, at, byte]) => {
        const copy = Buffer.from(message);
        copy[at % copy.length] = byte;
        return copy;
      });
    const check = (message: Buffer, streaming: boolean) => {
      try {
        const decoded = decode(message, streaming) as { row?: Tuple; key?: Tuple; old?: Tuple };
        for (const tuple of [decoded.row, decoded.key, decoded.old]) texts(tuple);
      } catch (error) {
        expect(error).toBeInstanceOf(PgoutputError);
      }
    };
    fc.assert(fc.property(fc.oneof(random, damaged), fc.boolean(), check), { numRuns: 20_000 });
  });
});
