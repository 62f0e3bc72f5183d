/** Protobuf messages as JSON rows: framing and mapping. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encoded, framed, load, proto2, proto3, rowOf } from "../../../../harness/sources/protobuf.ts";

describe("values", () => {
  const scalars = proto3(`message M { double a = 1; float b = 2; int32 c = 3; int64 d = 4; uint32 e = 5; uint64 f = 6;
    sint32 g = 7; sint64 h = 8; fixed32 i = 9; fixed64 j = 10; sfixed32 k = 11; sfixed64 l = 12; bool m = 13;
    string n = 14; bytes o = 15; }`);

  test("every scalar type keeps every digit, at both ends of its range", async () => {
    const least = {
      a: -1.5e-300,
      b: -0.5,
      c: -2147483648,
      d: "-9223372036854775808",
      e: 1,
      f: "9007199254740993",
      g: -2147483648,
      h: "-9223372036854775808",
      i: 1,
      j: "1",
      k: -2147483648,
      l: "-9223372036854775808",
      m: true,
      n: 'quote " slash \\ line \n é',
      o: Buffer.from("abc"),
    };
    expect(await rowOf(scalars, encoded(scalars, "M", least))).toBe(
      '{"a":-1.5e-300,"b":-0.5,"c":-2147483648,"d":-9223372036854775808,"e":1,"f":9007199254740993,"g":-2147483648,' +
        '"h":-9223372036854775808,"i":1,"j":1,"k":-2147483648,"l":-9223372036854775808,"m":true,' +
        '"n":"quote \\" slash \\\\ line \\n é","o":"abc"}',
    );
    const most = {
      a: Number.POSITIVE_INFINITY,
      b: Number.NaN,
      c: 2147483647,
      d: "9223372036854775807",
      e: 4294967295,
      f: "18446744073709551615",
      g: 2147483647,
      h: "9223372036854775807",
      i: 4294967295,
      j: "18446744073709551615",
      k: 2147483647,
      l: "9223372036854775807",
    };
    expect(await rowOf(scalars, encoded(scalars, "M", most))).toBe(
      '{"a":"inf","b":"nan","c":2147483647,"d":9223372036854775807,"e":4294967295,"f":18446744073709551615,' +
        '"g":2147483647,"h":9223372036854775807,"i":4294967295,"j":18446744073709551615,"k":2147483647,' +
        '"l":9223372036854775807,"m":false,"n":"","o":""}',
    );
  });

  test("every 64-bit integer is written as the reference implementation reads it", async () => {
    const schema = proto3("message M { int64 a = 1; uint64 b = 2; sint64 c = 3; }");
    const signed = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    await fc.assert(
      fc.asyncProperty(signed, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), signed, async (a, b, c) => {
        const bytes = encoded(schema, "M", { a: String(a), b: String(b), c: String(c) });
        expect(await rowOf(schema, bytes)).toBe(`{"a":${a},"b":${b},"c":${c}}`);
      }),
      { numRuns: 60 },
    );
  });

  test("bytes and texts that are not UTF-8 stay as they are", async () => {
    const plan = proto3("message M { bytes a = 1; string b = 2; }");
    const { batch } = await load({ 1: { schema: plan } }, [framed(1, [0x0a, 3, 0xff, 0x22, 0x00, 0x12, 1, 0xe9])]);
    const row = batch.groups[0]?.rows.part(0, 1).toString("latin1");
    expect(row).toBe('{"a":"\xff\\"\\u0000","b":"\xe9"}\n');
  });

  test("what a message does not have: zero without presence, nothing with it", async () => {
    const schema = proto3(`enum E { NONE = 0; SOME = 1; }
      message M { int32 a = 1; optional int32 b = 2; E c = 3; repeated int32 d = 4; map<string, int32> e = 5; S f = 6;
      oneof g { int32 h = 7; string i = 8; } } message S { int32 x = 1; }`);
    expect(await rowOf(schema, [])).toBe('{"a":0,"c":"NONE","d":[],"e":{}}');
    const set = { a: 0, b: 0, c: 1, f: {}, h: 0 };
    expect(await rowOf(schema, encoded(schema, "M", set))).toBe(
      '{"a":0,"b":0,"c":"SOME","d":[],"e":{},"f":{"x":0},"h":0}',
    );
    const old = proto2("message M { optional int32 a = 1; required int32 b = 2; repeated int32 c = 3; }");
    expect(await rowOf(old, [16, 5])).toBe('{"b":5,"c":[]}');
    await expect(rowOf(old, [8, 5])).rejects.toThrow(
      '0 The message is not of the type M: The message has no required field "b".',
    );
  });

  test("of several values the last one counts, also in a oneof; parts of a message are one", async () => {
    const schema = proto3(`message M { int32 a = 1; oneof o { int32 b = 2; string c = 3; S d = 4; } S e = 5;
      map<int32, string> f = 6; } message S { int32 x = 1; repeated int32 y = 2; S z = 3; }`);
    expect(await rowOf(schema, [8, 1, 8, 2])).toContain('{"a":2,');
    expect(await rowOf(schema, [16, 1, 26, 1, 65])).toBe('{"a":0,"c":"A","f":{}}');
    expect(await rowOf(schema, [34, 2, 8, 1, 16, 7])).toBe('{"a":0,"b":7,"f":{}}');
    // A part before another oneof member is dropped, one after it is not merged with it.
    expect(await rowOf(schema, [34, 2, 8, 1, 16, 7, 34, 2, 16, 5])).toBe('{"a":0,"d":{"x":0,"y":[5]},"f":{}}');
    const parts = [42, 4, 8, 1, 16, 1, 42, 6, 16, 2, 26, 2, 8, 3, 42, 4, 26, 2, 16, 4];
    expect(await rowOf(schema, parts)).toBe('{"a":0,"e":{"x":1,"y":[1,2],"z":{"x":3,"y":[4]}},"f":{}}');
    expect(await rowOf(schema, [50, 5, 8, 1, 18, 1, 65, 50, 5, 8, 1, 18, 1, 66, 50, 0])).toBe(
      '{"a":0,"f":{"1":"B","0":""}}',
    );
  });

  test("lists packed or not, maps, enumerations, groups and unknown fields", async () => {
    const schema =
      proto2(`enum E { A = 0; B = 1; C = -1; } message M { repeated int32 a = 1; repeated int32 b = 2 [packed = true];
      repeated E c = 3; repeated group G = 4 { optional int32 x = 1; optional group H = 2 { optional int32 y = 1; } }
      map<bool, E> d = 5; repeated string e = 6; repeated double f = 7; }`);
    const packed = [10, 3, 1, 2, 3, 8, 4, 16, 5, 18, 2, 6, 7];
    expect(await rowOf(schema, packed)).toContain('"a":[1,2,3,4],"b":[5,6,7]');
    expect(await rowOf(schema, [24, 1, 24, 9, 24, ...[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]])).toContain(
      '"c":["B",9,"C"]',
    );
    const group = [35, 8, 1, 19, 8, 2, 20, 36, 35, 36];
    expect(await rowOf(schema, group)).toContain('[{"x":1,"h":{"y":2}},{}]');
    expect(await rowOf(schema, [42, 4, 8, 1, 16, 1, 42, 0])).toContain('"d":{"true":"B","false":"A"}');
    expect(await rowOf(schema, [50, 0, 50, 1, 97])).toContain('"e":["","a"]');
    // Unknown fields of every wire type, and a known number with another wire type.
    const unknown = [
      0x98,
      6,
      1,
      0x99,
      6,
      ...new Array(8).fill(0),
      0x9a,
      6,
      1,
      9,
      0x9b,
      6,
      8,
      1,
      0x9c,
      6,
      0x9d,
      6,
      0,
      0,
      0,
      0,
    ];
    expect(await rowOf(schema, [...unknown, 57, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 13, 0, 0, 0, 0])).toContain(
      '"a":[],"b":[]',
    );
    expect(await rowOf(schema, [57, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f])).toContain('"f":[1]');
  });

  test("editions say which fields have presence, and how messages are written", async () => {
    const schema = `edition = "2023"; option features.message_encoding = DELIMITED;
      message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; S c = 3; map<int32, S> d = 4;
      int32 e = 5 [features.field_presence = LEGACY_REQUIRED]; } message S { int32 x = 1; }`;
    expect(await rowOf(schema, [40, 1])).toBe('{"b":0,"d":{},"e":1}');
    expect(await rowOf(schema, [40, 1, 27, 8, 3, 28, 34, 6, 8, 1, 18, 2, 8, 4])).toBe(
      '{"b":0,"c":{"x":3},"d":{"1":{"x":4}},"e":1}',
    );
    await expect(rowOf(schema, [])).rejects.toThrow(/no required field "e"/);
  });

  test("well-known types", async () => {
    const files = ["timestamp", "duration", "wrappers", "struct"].map(
      (file) => `import "google/protobuf/${file}.proto";`,
    );
    const schema =
      proto3(`${files.join("")} message M { google.protobuf.Timestamp a = 1; google.protobuf.Duration b = 2;
      google.protobuf.Int64Value c = 3; google.protobuf.Struct d = 4; google.protobuf.BoolValue e = 5;
      google.protobuf.ListValue f = 6; repeated google.protobuf.Timestamp g = 7; }`);
    const value = {
      a: { seconds: "1500000000", nanos: 120_000_000 },
      b: { seconds: "-3", nanos: -500 },
      c: { value: "-9007199254740993" },
      d: {
        fields: { x: { numberValue: 1.5 }, y: { listValue: { values: [{ nullValue: 0 }, { stringValue: "s" }, {}] } } },
      },
      e: {},
      f: {},
      g: [{ seconds: "-62135596800" }, { seconds: "253402300799", nanos: 999_999_999 }],
    };
    expect(await rowOf(schema, encoded(schema, "M", value))).toBe(
      '{"a":"2017-07-14T02:40:00.120Z","b":-3.000000500,"c":-9007199254740993,"d":{"x":1.5,"y":[null,"s",null]},' +
        '"e":false,"f":[],"g":["0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999999Z"]}',
    );
    expect(await rowOf(schema, [])).toBe('{"g":[]}');
    const outside = encoded(schema, "M", { a: { seconds: "253402300800" } });
    await expect(rowOf(schema, outside)).rejects.toThrow(/years 1 to 9999/);
    await expect(rowOf(schema, encoded(schema, "M", { b: { seconds: "1", nanos: -1 } }))).rejects.toThrow(/duration/);
  });
});

describe("framing and schemas", () => {
  const schema =
    proto3(`package p; enum E { Z = 0; } message First { int32 a = 1; message In { int32 b = 1; message Deep { int32 c = 1; } }
    message Two { int32 d = 1; } } message Second { int32 e = 1; }`);

  test("the path names the message; a wrong one is rejected, and so are other ids and types", async () => {
    const schemas = { 1: { schema }, 2: { schema: "{}", type: "AVRO" as const }, 3: { schema: "message {" } };
    const { rows, rejected } = await load(schemas, [
      framed(1, [8, 1]),
      framed(1, [8, 1], [2, 2]),
      framed(1, [8, 1], [4, 0, 0]),
      framed(1, [8, 1], [6, 0, 0, 0]),
      framed(1, [8, 1], [4, 0, 2]),
      framed(1, [8, 1], [2, 4]),
      framed(1, [8, 1], [2, 1]),
      framed(1, [], [4, 0]),
      framed(1, [], [0xfe, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      framed(1, [], []),
      framed(9, [8, 1]),
      framed(2, [8, 1]),
      framed(3, [8, 1]),
      Buffer.from("text"),
      Buffer.from([0, 0, 0]),
      framed(1, [8, 2], [2, 0]),
    ]);
    expect(rows).toEqual(['{"a":1}', '{"e":1}', '{"b":1}', '{"c":1}', '{"d":1}', '{"a":2}']);
    expect(rejected).toEqual([
      "5 The schema 1 has no message at [2].",
      "6 The schema 1 has no message at [-1].",
      ...[7, 8, 9].map((at) => `${at} The message does not say which message of its schema it is.`),
      "10 The schema registry does not know the schema 9.",
      "11 The schema 2 is of type AVRO; expected PROTOBUF.",
      expect.stringMatching(/^12 The schema 3 cannot be read: illegal type name '\{'/),
      "13 The message does not begin with the id of a schema.",
      "14 The message does not begin with the id of a schema.",
    ]);
  });

  test("imports come from references, whatever package they are of; options of absent files do no harm", async () => {
    const main =
      proto3(`package p; import "other/file.proto"; import "confluent/meta.proto"; import "google/protobuf/any.proto";
      message M { option (confluent.message_meta).doc = "x"; Other a = 1; q.Far b = 2; google.protobuf.Any c = 3; int32 d = 4 [(confluent.field_meta).tags = "PII"]; }`);
    const references = [
      { name: "far.proto", schema: proto3("package q; enum G { U = 0; } message Far { G g = 1; }") },
      { name: "other/file.proto", schema: proto3('package p; import "far.proto"; message Other { q.Far f = 1; }') },
    ];
    const bytes = [10, 2, 10, 0, 18, 0, 26, 3, 10, 1, 117];
    expect(await rowOf(main, bytes, { references })).toBe(
      '{"a":{"f":{"g":"U"}},"b":{"g":"U"},"c":{"type_url":"u","value":""},"d":0}',
    );
    await expect(rowOf(main, bytes, { references: references.slice(0, 1) })).rejects.toThrow(
      /no such Type or Enum 'Other'/,
    );
    await expect(rowOf(proto3('import "/etc/passwd"; message M { root a = 1; }'), [])).rejects.toThrow(
      /cannot be read/,
    );
  });

  test("indexes count the file's own messages: neither those of its imports nor groups; and paths are short", async () => {
    const main = proto2(`package p; import "o.proto"; message M { optional group G = 1 { optional int32 x = 1; }
      message In { optional int32 y = 1; } }`);
    const references = [{ name: "o.proto", schema: proto2("package p; message Other { optional int32 z = 1; }") }];
    const paths = [[4, 0, 0], [2, 2], [1], [200, 1, ...new Array(100).fill(0)]];
    const { rows, rejected } = await load(
      { 1: { schema: main, references } },
      paths.map((path) => framed(1, [8, 1], path)),
    );
    expect(rows).toEqual(['{"y":1}']);
    expect(rejected).toEqual([
      "1 The schema 1 has no message at [1].",
      "2 The message does not say which message of its schema it is.",
      "3 The message does not say which message of its schema it is.",
    ]);
  });

  test("two versions of a schema in one batch are rows of one insert, in order", async () => {
    const schemas = {
      1: { schema: proto3("message M { int32 id = 1; }") },
      2: { schema: proto3("message M { int32 id = 1; string more = 2; }") },
    };
    const payloads = [framed(1, [8, 1]), framed(2, [8, 2, 18, 1, 65]), framed(1, [8, 3, 18, 1, 66])];
    const { rows, batch } = await load(schemas, payloads);
    expect(rows).toEqual(['{"id":1}', '{"id":2,"more":"A"}', '{"id":3}']);
    expect(batch.inserts().length).toBe(1);
  });
});
