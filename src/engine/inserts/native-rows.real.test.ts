/** Blocks of Native are counted as the engine writes them, and nothing else is. */
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { literal } from "../../clickhouse/sql.ts";
import { nativeRows } from "./native-rows.ts";

let engine: BareEngine;
beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(async () => await engine[Symbol.asyncDispose]());

const settings = { allow_suspicious_low_cardinality_types: 1, enable_time_time64_type: 1 };

async function native(type: string, rows: number): Promise<Buffer> {
  const from = `generateRandom(${literal(`a ${type}, b String`)}, 1, 10, 4) LIMIT ${rows}`;
  return await buffer(await engine.client.stream(`SELECT * FROM ${from} FORMAT Native`, { settings }));
}

test.each([
  ...["UInt8", "Int16", "Int32", "UInt64", "Int128", "UInt256", "Float32", "Float64", "Bool", "Date", "Date32"],
  ...["DateTime", "DateTime('UTC')", "DateTime64(3)", "DateTime64(9, 'Asia/Tokyo')", "UUID", "IPv4", "IPv6", "String"],
  ...[
    "FixedString(7)",
    "Enum8('a' = 1, 'b)' = 2)",
    "Enum16('x' = 1000)",
    "Decimal(9, 2)",
    "Decimal(18, 3)",
    "Decimal(38, 4)",
  ],
  ...["Decimal(76, 5)", "Nullable(UInt32)", "Nullable(String)", "Nullable(FixedString(3))", "LowCardinality(String)"],
  ...["LowCardinality(Nullable(String))", "LowCardinality(FixedString(4))", "LowCardinality(UInt16)", "Array(UInt8)"],
  ...["Array(Array(Nullable(String)))", "Array(LowCardinality(Nullable(String)))", "Map(String, UInt64)"],
  ...[
    "Map(LowCardinality(String), Array(String))",
    "Tuple(UInt8, String)",
    "Tuple(a LowCardinality(String), `b c` Array(Date))",
  ],
  "Array(Tuple(k String, v Nullable(Float64)))",
])("of the type %s", async (type) => {
  const [one, two] = [await native(type, 3), await native(type, 200)];
  expect(nativeRows(one)?.rows).toBe(3);
  expect(nativeRows(Buffer.concat([one, two]))).toEqual({ rows: 203, shape: nativeRows(one)?.shape });
  for (let cut = 1; cut < one.length; cut += 1)
    expect(nativeRows(one.subarray(0, cut)), `${cut} bytes`).toBeUndefined();
  expect(nativeRows(Buffer.concat([one, Buffer.from([1])]))).toBeUndefined();
});

test.each(["JSON", "Dynamic", "Variant(UInt8, String)", "SimpleAggregateFunction(max, UInt8)", "Point"])(
  "the type %s is not counted",
  async (type) => {
    const sql = `SELECT CAST(NULL AS Nullable(String)) AS n, a FROM (SELECT defaultValueOfTypeName(${literal(type)}) AS a) FORMAT Native`;
    expect(nativeRows(await buffer(await engine.client.stream(sql, { settings })))).toBeUndefined();
  },
);

test("blocks with other columns are not one insert", async () => {
  expect(nativeRows(Buffer.concat([await native("UInt8", 1), await native("Int8", 1)]))).toBeUndefined();
  expect(nativeRows(Buffer.alloc(0))).toBeUndefined();
});
