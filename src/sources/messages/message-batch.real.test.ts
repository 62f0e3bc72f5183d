/** Batches of messages against a real engine: which rows arrive, and the cost of a bad message. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MessageEngine, message, type TestMessage } from "../../../harness/engine/message-engine.ts";
import { anyNetwork } from "../../../harness/network/network.ts";
import { startRegistry, type TestRegistry } from "../../../harness/sources/schema-registry.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import type { DestinationColumn } from "../contract/source.ts";
import { AvroRows } from "./formats/avro-rows.ts";
import { JsonRows } from "./formats/json-rows.ts";
import { SchemaRegistry } from "./formats/registry.ts";
import type { VirtualColumns } from "./message.ts";
import { planRows } from "./plan.ts";
import { checkSamples, describeSamples, type Samples } from "./samples.ts";

const dialer = new Dialer(anyNetwork.policy, "schemaRegistry.url");

const virtualColumns: VirtualColumns<TestMessage> = {
  _key: { kind: "text", read: (one) => one.key },
  _timestamp: { kind: "millis", read: (one) => one.timestamp },
  _position: { kind: "integer", read: (one) => Number(one.position) },
  _raw_message: { kind: "text", read: (one) => one.bytes.subarray(one.start, one.end) },
  _pairs: { kind: "pairs", read: () => [['k"', "v\n"]] },
  _names: { kind: "texts", read: () => ["a\"'\n", "é"] },
};

const plain: DestinationColumn[] = [
  { name: "id", type: "UInt64", sourceField: "id" },
  { name: "name", type: "String", sourceField: "name" },
];
const mapped: DestinationColumn[] = [
  { name: "number", type: "UInt64", sourceField: "id" },
  { name: "deep", type: "String", sourceField: "more.deep" },
  { name: "key", type: "String", sourceField: "_key" },
  { name: "at", type: "DateTime64(3)", sourceField: "_timestamp" },
  { name: "position", type: "Int64", sourceField: "_position" },
  { name: "raw", type: "String", sourceField: "_raw_message" },
  { name: "names", type: "Array(String)", sourceField: "_names" },
  { name: "pairs", type: "Map(String, String)", sourceField: "_pairs" },
];

let engine: MessageEngine;
let registry: TestRegistry;
beforeAll(async () => {
  engine = await MessageEngine.open();
  registry = await startRegistry();
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
});

async function table(name: string, columns: readonly DestinationColumn[]) {
  const list = columns.map((column) => `${column.name} ${column.type}`).join(", ");
  await engine.client.command(
    `CREATE TABLE ${name} (${list}) ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100`,
  );
  return { database: "default", table: name, columns };
}

const json = (columns: Awaited<ReturnType<typeof table>>) =>
  new JsonRows(planRows(columns, "JSONEachRow", virtualColumns));
const rows = (sql: string) => engine.client.rows<Record<string, unknown>>(sql);

describe("JSON messages", () => {
  test("no message can merge with another, add a row or shift which one is bad", async () => {
    const encoder = json(await table("hostile", plain));
    const payloads = [
      '{"id":1,"name":"one"}',
      '{"id":2',
      ',"name":"two"}',
      '{"id":3,"name":"three"}\n{"id":33,"name":"x"}',
      '{"id":4,\n\n"name":"fo\\nur", "id2": {"x": [1, "}"]}}',
      '[{"id":5}]',
      null,
      "",
      '{"id":"six","name":"(at row 1)"}',
      '{"id":7,"name":"seven"}',
      '{"id":8,"name":"eight","id":9}',
      '{"id":10,"name":ten}',
      "{}",
    ];
    const { rejected } = await engine.load(
      encoder,
      payloads.map((payload, at) => message(at, payload)),
      "hostile",
    );
    expect(await rows("SELECT id, name FROM hostile ORDER BY id")).toEqual([
      { id: "0", name: "" },
      { id: "1", name: "one" },
      { id: "4", name: "fo\nur" },
      { id: "7", name: "seven" },
      { id: "8", name: "eight" },
    ]);
    expect(rejected.map(({ position }) => position)).toEqual(["1", "2", "3", "5", "8", "11"]);
    expect(rejected.find(({ position }) => position === "8")?.message).toMatch(/id/);
    expect(rejected.find(({ position }) => position === "8")?.raw).toBe(payloads[8]);
  });

  test("mapped names, nested fields and virtual columns, also with bytes that are not UTF-8", async () => {
    const encoder = json(await table("mapped", mapped));
    const bytes = Buffer.concat([
      Buffer.from('{"id":5,"more":{"deep":"'),
      Buffer.from([0xff, 0xe9]),
      Buffer.from('"}}'),
    ]);
    await engine.load(encoder, [message(3, bytes), message(4, " {  } ")], "mapped");
    const [first, second] = await rows("SELECT *, hex(deep) AS h, hex(raw) AS r FROM mapped ORDER BY position");
    expect(first).toMatchObject({
      number: "5",
      h: "FFE9",
      key: "k3",
      position: "3",
      names: ["a\"'\n", "é"],
      pairs: { 'k"': "v\n" },
    });
    expect(first?.at).toBe("2017-07-14 02:40:00.000");
    expect(first?.r).toBe(bytes.toString("hex").toUpperCase());
    expect(second).toMatchObject({ number: "0", deep: "", raw: " {  } " });
  });

  test("one bad message among 100,000 costs one more attempt and one question", async () => {
    const encoder = json(await table("large", plain));
    const messages = Array.from({ length: 100_000 }, (_, at) =>
      message(at, at === 77_777 ? '{"id":"-","name":"bad"}' : `{"id":${at},"name":"name ${at}"}`),
    );
    engine.questions = 0;
    const { rejected, attempts } = await engine.load(encoder, messages, "large");
    expect([rejected.length, rejected[0]?.position, attempts, engine.questions]).toEqual([1, "77777", 2, 1]);
    expect(await rows("SELECT count() AS c, sum(id) AS s FROM large")).toEqual([
      { c: "99999", s: String((99_999 * 100_000) / 2 - 77_777) },
    ]);
    // One block, which is recognised when repeated.
    await engine.load(encoder, messages, "large");
    expect(await rows("SELECT count() AS c, uniqExact(_part) AS p FROM large")).toEqual([{ c: "99999", p: "1" }]);
  });

  test("an integer that does not fit its column is a bad message, in lists and nested fields too", async () => {
    const types = ["UInt8", "Int64", "Nullable(Int16)", "UInt64", "Array(UInt8)", "Map(String, Int8)", "Int128"];
    const columns = types.map((type, at) => ({ name: `c${at}`, type, sourceField: at === 1 ? "in.c1" : `c${at}` }));
    const encoder = json(await table("unfit", [{ name: "id", type: "UInt32", sourceField: "id" }, ...columns]));
    const edge = (at: number, value: unknown) => `{"id":${at},${value}}`;
    const fine = [
      '"c0":255,"in":{"c1":-9223372036854775808},"c2":null,"c3":18446744073709551615,"c4":[0,255],"c5":{"a":-128}',
      '"c0":"7","c2":-32768,"c4":["1"],"c6":"-170141183460469231731687303715884105728"',
      '"c0":true,"c3":null',
    ];
    const bad = [
      '"c0":256',
      '"c0":-1',
      '"c0":18446744073709551615',
      '"c2":18446744073709551615',
      '"in":{"c1":9223372036854775808}',
      '"c2":32768',
      '"c3":18446744073709551616',
      '"c4":[1,300]',
      '"c5":{"a":128}',
      '"c6":170141183460469231731687303715884105728',
      '"c0":70000',
    ];
    const messages = [...fine, ...bad].map((members, at) => message(at, edge(at, members)));
    const { rejected } = await engine.load(encoder, messages, "unfit");
    expect(rejected.map(({ position }) => Number(position))).toEqual(bad.map((_, at) => fine.length + at));
    expect(rejected.at(-1)?.message).toBe(
      "Cannot parse JSON value of type UInt8 here: 70000: (while reading the value of key c0)",
    );
    expect(await rows("SELECT * FROM unfit ORDER BY id")).toEqual([
      {
        id: 0,
        c0: 255,
        c1: "-9223372036854775808",
        c2: null,
        c3: "18446744073709551615",
        c4: [0, 255],
        c5: { a: -128 },
        c6: "0",
      },
      { id: 1, c0: 7, c1: "0", c2: -32_768, c3: "0", c4: [1], c5: {}, c6: "-170141183460469231731687303715884105728" },
      { id: 2, c0: 1, c1: "0", c2: null, c3: "0", c4: [], c5: {}, c6: "0" },
    ]);
  });

  test("on request integers that do not fit wrap around", async () => {
    const target = await table("wrapped", [{ name: "id", type: "UInt8", sourceField: "id" }]);
    const encoder = new JsonRows(planRows(target, "JSONEachRow", virtualColumns, true));
    expect((await engine.load(encoder, [message(0, '{"id":70000}')], "wrapped")).rejected).toEqual([]);
    expect(await rows("SELECT id FROM wrapped")).toEqual([{ id: 112 }]);
  });

  test("thousands of bad messages are found together", async () => {
    const encoder = json(await table("many", plain));
    const messages = Array.from({ length: 30_000 }, (_, at) =>
      message(at, at % 3 === 0 ? `{"id":"bad\n${at}","name":"b"}` : `{"id":${at},\n"name":"n"}`),
    );
    engine.questions = 0;
    const { rejected, attempts } = await engine.load(encoder, messages, "many");
    expect(rejected.length).toBe(10_000);
    expect(attempts).toBe(3);
    expect(engine.questions).toBeLessThan(30);
    expect(await rows("SELECT count() AS c FROM many")).toEqual([{ c: "20000" }]);
  });

  test("a batch in which every message is bad is found bad as a whole", async () => {
    const encoder = json(await table("hopeless", plain));
    const messages = Array.from({ length: 10 }, (_, at) => message(at, `{"id":"bad ${at}","name":"b"}`));
    const { rejected } = await engine.load(encoder, messages, "hopeless");
    expect(rejected.length).toBe(10);
    expect(await rows("SELECT count() AS c FROM hopeless")).toEqual([{ c: "0" }]);
  });
});

describe("Avro messages", () => {
  const v1 = {
    type: "record",
    name: "R",
    fields: [
      { name: "id", type: "long" },
      { name: "name", type: "string" },
    ],
  };
  const v2 = { ...v1, fields: [...v1.fields, { name: "more", type: ["null", "int"], default: null }] };
  const datum = (schema: number, id: number, name: string, ...tail: number[]) =>
    Buffer.from([0, 0, 0, 0, schema, id * 2, name.length * 2, ...Buffer.from(name), ...tail]);

  test("every schema in one batch, virtual columns, and messages that do not fit their schema", async () => {
    registry.schemas.set(1, { schema: JSON.stringify(v1) });
    registry.schemas.set(2, { schema: JSON.stringify(v2) });
    const columns: DestinationColumn[] = [
      ...plain,
      { name: "more", type: "Int32", sourceField: "more" },
      { name: "key", type: "String", sourceField: "_key" },
      { name: "names", type: "Array(String)", sourceField: "_names" },
      { name: "pairs", type: "Map(String, String)", sourceField: "_pairs" },
      { name: "at", type: "DateTime64(3)", sourceField: "_timestamp" },
    ];
    const plan = planRows(await table("avro", columns), "Avro", virtualColumns);
    const messages = [
      message(0, datum(1, 1, "one")),
      message(1, datum(2, 2, "two", 2, 14)),
      message(2, datum(1, 3, "three").subarray(0, -2)),
      message(3, datum(1, 4, "four", 0x7f, 0x7f)),
      message(4, datum(9, 5, "five")),
      message(5, "text"),
      message(6, datum(2, 6, "six", 0)),
      message(7, datum(1, 7, "seven")),
    ];
    const { rejected } = await engine.load(
      new AvroRows(plan, new SchemaRegistry({ url: registry.url }, dialer)),
      messages,
      "a",
    );
    expect(await rows("SELECT id, name, more, key, names, pairs, toString(at) AS at FROM avro ORDER BY id")).toEqual(
      [
        { id: "1", name: "one", more: 0, key: "k0" },
        { id: "2", name: "two", more: 7, key: "k1" },
        ...[{ id: "4", name: "four", more: 0, key: "k3" }],
        { id: "6", name: "six", more: 0, key: "k6" },
        { id: "7", name: "seven", more: 0, key: "k7" },
      ].map((row) => ({ ...row, names: ["a\"'\n", "é"], pairs: { 'k"': "v\n" }, at: "2017-07-14 02:40:00.000" })),
    );
    expect(rejected.map(({ position }) => position)).toEqual(["2", "4", "5"]);
  });

  test("samples: fields and types, and which column does not fit", async () => {
    const samples: Samples<TestMessage> = {
      format: "JSONEachRow",
      virtualColumns,
      encoder: (plan) => new JsonRows(plan),
      messages: [
        message(0, '{"id":1,"name":"a","at":"2024-01-01 00:00:00","deep":{"x":[1.5]}}'),
        message(1, '{"id":2}'),
      ],
      origin: "topic t",
    };
    expect(await describeSamples(samples, engine.query)).toEqual([
      { name: "id", type: "Int64", optional: false },
      { name: "name", type: "Nullable(String)", optional: true },
      { name: "at", type: "Nullable(DateTime)", optional: true },
      { name: "deep", type: "Tuple(x Array(Nullable(Float64)))", optional: false },
    ]);
    const destination = { database: "default", table: "x", columns: plain };
    await checkSamples(samples, destination, engine.checkQuery);
    const wrong = plain.map((column) => ({ ...column, type: "UInt8" }));
    await expect(checkSamples(samples, { ...destination, columns: wrong }, engine.checkQuery)).rejects.toThrow(
      /field "name" does not fit UInt8/,
    );
    const misspelled = [{ name: "id", type: "UInt64", sourceField: "idd" }];
    await expect(checkSamples(samples, { ...destination, columns: misspelled }, engine.checkQuery)).rejects.toThrow(
      /no field "idd"/,
    );
  });
});
