/** Hostile protobuf messages and schemas. */
import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { encoded, framed, load, proto3, rowOf } from "../../../../harness/sources/protobuf.ts";

describe("ill will", () => {
  const schema =
    proto3(`message M { int32 a = 1; string b = 2; repeated M c = 3; map<string, M> d = 4; repeated double e = 5;
    oneof f { M g = 6; bytes h = 7; } sint64 i = 8; }`);
  const deep = (levels: number) => {
    let bytes: number[] = [];
    for (let level = 0; level < levels; level += 1) {
      const length = Buffer.from(new protobuf.Writer().uint32(bytes.length).finish());
      bytes = [50, ...length, ...bytes];
    }
    return bytes;
  };

  test("a message that is cut anywhere is read as what is left of it, or rejected; the ones beside it arrive", async () => {
    const whole = encoded(schema, "M", {
      a: -1,
      b: "text",
      c: [{ b: "inner" }, {}],
      d: { k: { a: 300 } },
      e: [1.5, 2.5],
      g: { i: "-5" },
    });
    const good = framed(1, [8, 7]);
    const cuts = Array.from({ length: whole.length }, (_, at) => framed(1, whole.subarray(0, at)));
    const { rows, rejected } = await load({ 1: { schema } }, [good, ...cuts, good]);
    expect(rows.length + rejected.length).toBe(cuts.length + 2);
    expect(rejected.length).toBeGreaterThan(cuts.length / 2);
    expect(rows[0]).toBe(rows.at(-1));
    for (const row of rows) JSON.parse(row);
  });

  test("random bytes make a valid row or a rejected record, never anything else", async () => {
    const tags = fc.constantFrom(8, 18, 26, 34, 42, 41, 50, 58, 64, 1, 2, 0, 255, 128, 35, 36);
    const bytes = fc.array(fc.oneof(fc.nat(255), tags), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 20 }), async (payloads) => {
        const { rows, rejected, batch } = await load(
          { 1: { schema } },
          payloads.map((payload) => framed(1, payload)),
        );
        expect(rows.length + rejected.length).toBe(payloads.length);
        const content = batch.groups[0]?.rows.content().toString("latin1") ?? "";
        expect(content.split("\n").length - 1).toBe(rows.length);
        for (const row of rows) JSON.parse(row);
      }),
      { numRuns: 200 },
    );
  });

  test("nesting is bounded: 100 messages within one another, and groups that nobody knows", async () => {
    expect((await rowOf(schema, deep(99))).match(/"g":/g)?.length).toBe(99);
    await expect(rowOf(schema, deep(100))).rejects.toThrow(/nested more than 100 deep/);
    await expect(rowOf(schema, deep(1_000))).rejects.toThrow(/nested more than 100 deep/);
    await expect(
      rowOf(
        schema,
        new Array(20_000).fill(0xa3).flatMap((tag) => [tag, 6]),
      ),
    ).rejects.toThrow(/nested more/);
  });

  test("a small message does not become an enormous row", async () => {
    const names = `enum E { ${"N".repeat(5_000)} = 0; }`;
    const wide = proto3(
      `${names} message M { repeated E a = 1; repeated W b = 2; } message W { ${Array.from(
        { length: 2_000 },
        (_, at) => `string some_long_name_${at} = ${at + 1};`,
      ).join("")} }`,
    );
    await expect(rowOf(wide, [10, 0xff, 0x7f, ...new Array(16_383).fill(0)])).rejects.toThrow(/too large for its size/);
    await expect(rowOf(wide, new Array(1_000).fill([18, 0]).flat())).rejects.toThrow(/too large for its size/);
    expect((await rowOf(wide, [10, 2, 0, 0, 18, 0])).length).toBeGreaterThan(50_000);
  });

  test("hostile schemas are rejected, and leave nothing behind", async () => {
    const names = proto3(
      "message M { int32 __proto__ = 1; int32 constructor = 2; M toString = 3; message __proto__ { int32 polluted = 1; } }",
    );
    await rowOf(names, [8, 1]).catch(() => undefined);
    const option = proto3(
      'option (x).__proto__.polluted = "yes"; option constructor.prototype.polluted = "yes"; message M { int32 a = 1; }',
    );
    await rowOf(option, []).catch(() => undefined);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    await expect(rowOf(proto3("message A {".repeat(50_000)), [])).rejects.toThrow(/schema 1 cannot be read/);
    await expect(rowOf(proto3(`message A {} //${"x".repeat(1_000_000)}`), [])).rejects.toThrow(
      /more than 1000000 characters/,
    );
    const many = Array.from({ length: 10_001 }, (_, at) => `int32 f${at} = ${at + 1};`).join("");
    await expect(rowOf(proto3(`message A { ${many} }`), [])).rejects.toThrow(/more than 10000 fields/);
    await expect(rowOf(proto3("message A { B b = 1; }"), [])).rejects.toThrow(/cannot be read/);
    await expect(rowOf("", [])).rejects.toThrow(/no message at \[0\]/);
  });
});
