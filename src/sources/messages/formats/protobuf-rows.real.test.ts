/** Protobuf messages against a real engine: every kind of value in columns of the types derived from a schema. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { MessageEngine, message, type TestMessage } from "../../../../harness/engine/message-engine.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { protobufSchema } from "../../../../harness/sources/protobuf.ts";
import { startRegistry, type TestRegistry } from "../../../../harness/sources/schema-registry.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import type { DestinationColumn } from "../../contract/source.ts";
import type { VirtualColumns } from "../message.ts";
import { planRows } from "../plan.ts";
import { checkSamples, describeSamples, type Samples } from "../samples.ts";
import { ProtobufRows } from "./protobuf-rows.ts";
import { SchemaRegistry } from "./registry.ts";

const dialer = new Dialer(anyNetwork.policy, "schemaRegistry.url");

const virtualColumns: VirtualColumns<TestMessage> = {
  _key: { kind: "text", read: (one) => one.key },
  _raw_message: { kind: "text", read: (one) => one.bytes.subarray(one.start, one.end) },
};

const imports = ["timestamp", "duration", "wrappers", "struct"].map(
  (file) => `import "google/protobuf/${file}.proto";`,
);
const everything = protobufSchema(`syntax = "proto3"; package shop; ${imports.join("\n")}
  enum Kind { NONE = 0; BIG = 1; }
  message Order { int64 id = 1; uint64 big = 2; string name = 3; bytes raw = 4; Kind kind = 5; repeated sint32 list = 6;
    map<string, uint64> counts = 7; map<int32, Item> items = 8; google.protobuf.Timestamp at = 9;
    google.protobuf.Duration took = 10; optional int32 maybe = 11; Item item = 12; double ratio = 13; float less = 14;
    google.protobuf.UInt64Value wrapped = 15; google.protobuf.Struct free = 16; bool flag = 17;
    oneof how { string card = 18; int64 cash = 19; } repeated google.protobuf.Timestamp times = 20; }
  message Item { string sku = 1; optional double price = 2; repeated Item parts = 3; }`);

let engine: MessageEngine;
let registry: TestRegistry;
beforeAll(async () => {
  engine = await MessageEngine.open();
  registry = await startRegistry();
  registry.schemas.set(1, { schema: everything.text, schemaType: "PROTOBUF" });
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
});

async function table(name: string, columns: readonly DestinationColumn[]) {
  const list = columns.map((column) => `${column.name} ${column.type}`).join(", ");
  await engine.client.command(`CREATE TABLE ${name} (${list}) ENGINE = MergeTree ORDER BY tuple()`);
  return { database: "default", table: name, columns };
}

const column = (name: string, type: string, sourceField = name): DestinationColumn => ({ name, type, sourceField });
const rows = (sql: string) => engine.client.rows<Record<string, unknown>>(sql);
const encoderOf = (plan: ConstructorParameters<typeof ProtobufRows<TestMessage>>[0]) =>
  new ProtobufRows(plan, new SchemaRegistry({ url: registry.url }, dialer));
const samplesOf = (messages: TestMessage[]): Samples<TestMessage> => ({
  format: "JSONEachRow",
  virtualColumns,
  encoder: encoderOf,
  messages,
  origin: "topic t",
});
const planOf = (destination: Awaited<ReturnType<typeof table>>) => planRows(destination, "JSONEachRow", virtualColumns);

const full = {
  id: "-9223372036854775808",
  big: "18446744073709551615",
  name: 'a "b"\n\\é',
  raw: Buffer.from([0, 0xff, 0x22, 0x0a]),
  kind: 1,
  list: [-1, 0, 2147483647],
  counts: { 'k"': "18446744073709551615" },
  items: { [-5]: { sku: "s", price: 1.5, parts: [{ sku: "deep" }] } },
  at: { seconds: "-1", nanos: 123_456_789 },
  took: { seconds: "315576000000", nanos: 999_999_999 },
  maybe: 0,
  item: { sku: "i" },
  ratio: Number.NaN,
  less: Number.NEGATIVE_INFINITY,
  wrapped: { value: "18446744073709551615" },
  free: { fields: { x: { numberValue: 1.5 }, y: { listValue: { values: [{ boolValue: true }] } } } },
  flag: true,
  cash: "7",
  times: [{ seconds: "1500000000" }],
};

test("the types that the schema tells hold every value of a message, and of one without any", async () => {
  const messages = [
    message(0, everything.message(1, "shop.Order", full)),
    message(1, everything.message(1, "shop.Order", {})),
  ];
  const fields = await describeSamples(samplesOf(messages), engine.query);
  expect(Object.fromEntries(fields.map(({ name, type }) => [name, type]))).toMatchObject({
    id: "Int64",
    big: "UInt64",
    kind: "String",
    items: "Map(Int32, Tuple(`sku` String, `price` Nullable(Float64), `parts` Array(String)))",
    at: "Nullable(DateTime64(9, 'UTC'))",
    took: "Nullable(Decimal(21, 9))",
    maybe: "Nullable(Int32)",
    wrapped: "Nullable(UInt64)",
    card: "Nullable(String)",
  });
  const columns = fields.map(({ name, type }) => column(name, type));
  const destination = await table("everything", columns);
  const { rejected } = await engine.load(encoderOf(planOf(destination)), messages, "e");
  expect(rejected).toEqual([]);
  const [first, second] = await rows(
    "SELECT * EXCEPT raw, hex(raw) AS raw FROM everything ORDER BY id SETTINGS output_format_json_quote_denormals = 1, output_format_json_quote_64bit_integers = 1, output_format_json_quote_decimals = 1",
  );
  expect(first).toEqual({
    id: "-9223372036854775808",
    big: "18446744073709551615",
    name: full.name,
    raw: "00FF220A",
    kind: "BIG",
    list: [-1, 0, 2147483647],
    counts: { 'k"': "18446744073709551615" },
    items: { "-5": { sku: "s", price: 1.5, parts: ['{"sku":"deep","parts":[]}'] } },
    at: "1969-12-31 23:59:59.123456789",
    took: "315576000000.999999999",
    maybe: 0,
    item: { sku: "i", price: null, parts: [] },
    ratio: "nan",
    less: "-inf",
    wrapped: "18446744073709551615",
    free: '{"x":1.5,"y":[true]}',
    flag: true,
    card: null,
    cash: "7",
    times: ["2017-07-14 02:40:00.000000000"],
  });
  const nothing = { at: null, took: null, maybe: null, wrapped: null, free: null, card: null, cash: null };
  const zero = { id: "0", name: "", raw: "", kind: "NONE", list: [], counts: {}, ratio: 0, flag: false, times: [] };
  expect(second).toMatchObject({ ...nothing, ...zero, item: { sku: "", price: null, parts: [] } });
});

test("columns of other types, nested fields and virtual columns", async () => {
  const columns = [
    column("text", "String", "id"),
    column("kind", "Enum8('NONE' = 0, 'BIG' = 1, 'NEW' = 9)"),
    column("at", "DateTime64(3, 'UTC')"),
    column("took", "Float64"),
    column("sku", "LowCardinality(String)", "item.sku"),
    column("ratio", "Nullable(Float64)"),
    column("flag", "UInt8"),
    column("key", "String", "_key"),
    column("raw", "String", "_raw_message"),
  ];
  const destination = await table("others", columns);
  const value = {
    ...full,
    at: { seconds: "1500000000", nanos: 5_000_000 },
    took: { seconds: "-1", nanos: -500_000_000 },
  };
  const payload = everything.message(1, "shop.Order", value);
  const other = everything.message(1, "shop.Order", { id: "5", kind: 9 });
  const messages = [message(0, payload), message(1, other), message(2, Buffer.from([0, 0, 0, 0, 1, 0]))];
  const { rejected } = await engine.load(encoderOf(planOf(destination)), messages, "o");
  expect(rejected).toEqual([]);
  const found = await rows("SELECT * EXCEPT (raw, ratio), isNaN(ratio) AS n, hex(raw) AS raw FROM others ORDER BY key");
  expect(found).toMatchObject([
    { text: full.id, kind: "BIG", at: "2017-07-14 02:40:00.005", took: -1.5, sku: "i", n: 1, flag: 1, key: "k0" },
    { text: "5", kind: "NEW", took: 0, sku: "", flag: 0, key: "k1" },
    { text: "0", kind: "NONE", key: "k2", raw: "000000000100" },
  ]);
  expect(found[0]?.raw).toBe(payload.toString("hex").toUpperCase());
});

test("two schemas in one batch; what cannot be read is rejected, whoever refuses it, and holds nothing up", async () => {
  const v1 = protobufSchema('syntax = "proto3"; message R { string id = 1; }');
  const v2 = protobufSchema('syntax = "proto3"; message R { string id = 1; string more = 2; }');
  registry.schemas.set(2, { schema: v1.text, schemaType: "PROTOBUF" });
  registry.schemas.set(3, { schema: v2.text, schemaType: "PROTOBUF" });
  registry.schemas.set(4, { schema: '{"type":"string"}' });
  const destination = await table("evolves", [column("id", "UInt64"), column("more", "String")]);
  const messages = [
    message(0, v1.message(2, "R", { id: "1" })),
    message(1, v2.message(3, "R", { id: "2", more: "m" })),
    message(2, v1.message(2, "R", { id: "3" }).subarray(0, -1)),
    message(3, v1.message(2, "R", { id: "no number" })),
    message(4, v1.message(4, "R", { id: "5" })),
    message(5, v1.message(9, "R", { id: "6" })),
    message(6, Buffer.from([0, 0, 0, 0, 2, 2, 8, 10, 1, 0x31])),
    message(7, "text"),
    message(8, null),
    message(9, v1.message(2, "R", { id: "10" })),
  ];
  const { rejected } = await engine.load(encoderOf(planOf(destination)), messages, "v");
  expect(await rows("SELECT * FROM evolves ORDER BY id")).toEqual([
    { id: "1", more: "" },
    { id: "2", more: "m" },
    { id: "10", more: "" },
  ]);
  expect(rejected.map(({ position, message: reason }) => `${position} ${reason}`)).toEqual([
    "2 The message is not of the type R: The message ends in the middle of a field.",
    expect.stringMatching(/^3 .*id/),
    "4 The schema 4 is of type AVRO; expected PROTOBUF.",
    "5 The schema registry does not know the schema 9.",
    "6 The schema 2 has no message at [4].",
    "7 The message does not begin with the id of a schema.",
  ]);
  expect(rejected[0]?.raw).toMatch(/^hex:|^\0/);
});

test("an answer of the registry that is larger than any schema is not kept", async () => {
  registry.schemas.set(5, { schema: "x".repeat(17_000_000), schemaType: "PROTOBUF" });
  const asked = new SchemaRegistry({ url: registry.url }, dialer).ask(5);
  await expect(asked).rejects.toThrow(/its answer is larger than 16000000 bytes/);
});

test("samples: which column does not fit, and which field is not there", async () => {
  const samples = samplesOf([message(0, everything.message(1, "shop.Order", full))]);
  const destination = { database: "default", table: "x", columns: [column("id", "Int64"), column("card", "String")] };
  await checkSamples(samples, destination, engine.checkQuery);
  const wrong = { ...destination, columns: [column("id", "Int64"), column("name", "UInt8")] };
  await expect(checkSamples(samples, wrong, engine.checkQuery)).rejects.toThrow(/field "name" does not fit UInt8/);
  const misspelled = { ...destination, columns: [column("id", "Int64", "idd")] };
  await expect(checkSamples(samples, misspelled, engine.checkQuery)).rejects.toThrow(/no field "idd"/);
  const cut = samplesOf([message(0, everything.message(1, "shop.Order", full).subarray(0, -1))]);
  await expect(checkSamples(cut, destination, engine.checkQuery)).rejects.toThrow(
    /cannot be read: The message is not of the type shop.Order/,
  );
});
