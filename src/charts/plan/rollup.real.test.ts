/** Rollups give the answer of the table, or are left alone. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ChartEngine,
  type ChartRoom,
  chartRoom,
  type RequestInput,
  startEngine,
} from "../../../harness/engine/chart-engine.ts";

let engine: ChartEngine;
const t0 = Date.UTC(2024, 2, 30, 20, 0, 0);

type Item = Partial<RequestInput["series"][number]>;
const request = (series: Item[], extra: Partial<RequestInput> = {}): RequestInput => ({
  startTime: t0,
  endTime: t0 + 86_400_000,
  granularity: "6h",
  ...extra,
  series: series.map((item) => ({ sourceId: "rolled", aggFn: "count", ...item })),
});

const total = { databaseName: "c", tableName: "hourly", timestampColumn: "hour", minGranularity: "1h" as const };
const aggregatedColumns = [
  { aggFn: "count" as const, mvColumn: "rows" },
  { aggFn: "sum" as const, sourceColumn: "v", mvColumn: "total" },
  { aggFn: "max" as const, sourceColumn: "v", mvColumn: "top" },
];
let both: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(
    "CREATE TABLE c.raw (ts DateTime64(3, 'UTC'), service String, v Int32) ENGINE = MergeTree ORDER BY ts",
  );
  await client.command(`CREATE TABLE c.hourly (hour DateTime('UTC'), service String, rows SimpleAggregateFunction(sum, UInt64),
      total AggregateFunction(sum, Int32), top SimpleAggregateFunction(max, Int32)) ENGINE = AggregatingMergeTree ORDER BY (service, hour)`);
  await client.command(`CREATE MATERIALIZED VIEW c.hourly_mv TO c.hourly AS SELECT toStartOfHour(ts) AS hour, service, count() AS rows,
      sumState(v) AS total, max(v) AS top FROM c.raw GROUP BY hour, service`);
  await client.command(`INSERT INTO c.raw SELECT fromUnixTimestamp64Milli(${t0} + (number * 7919) % 86400000), ['a', 'b', 'c'][1 + number % 3],
      toInt32(cityHash64(number) % 2000) - 1000 FROM numbers(20000)`);
  const plain = {
    name: "raw",
    kind: "table" as const,
    from: { databaseName: "c", tableName: "raw" },
    timestampValueExpression: "ts",
  };
  const view = { ...total, dimensionColumns: "service", aggregatedColumns };
  both = chartRoom(client, { plain, rolled: { ...plain, materializedViews: [view] } });
});

const compare = async (items: Item[], extra: Partial<RequestInput>) => {
  const of = (sourceId: string) =>
    both.outcome(
      request(
        items.map((item) => ({ ...item, sourceId })),
        extra,
      ),
    );
  const [plain, rolled] = [await of("plain"), await of("rolled")];
  expect(rolled.text).toBe(plain.text);
  expect(plain.rollups).toEqual([]);
  return rolled.rollups;
};
const items: Item[] = [
  { where: "service:a" },
  { aggFn: "sum", field: "v", where: "-service:a" },
  { aggFn: "max", field: "v", where: 'service:"b"' },
];

test("the answer is the same for aligned and for crooked ranges, and says what was read", async () => {
  for (const [startTime, endTime] of [
    [t0, t0 + 86_400_000],
    [t0 + 1, t0 + 50_000_123],
    [t0 + 1_799_999, t0 + 20_000_000],
  ] as const) {
    for (const granularity of ["1h", "6h", "1d"] as const) {
      expect(await compare(items, { startTime, endTime, granularity })).toEqual(["c.hourly"]);
      const grouped = items.map((item) => ({ ...item, groupBy: ["upper(service)"] }));
      expect(await compare(grouped, { startTime, endTime, granularity })).toEqual(["c.hourly"]);
    }
  }
});

test("one bucket for the whole range is read from it in any zone", async () => {
  for (const timezone of ["UTC", "Asia/Kolkata"]) {
    const range = { startTime: t0 + 1, endTime: t0 + 50_000_123, granularity: "none" as const, timezone };
    expect(await compare(items, range)).toEqual(["c.hourly"]);
  }
});

test("it is left alone where it could not give the same answer", async () => {
  expect(await compare(items, { granularity: "30m" })).toEqual([]);
  expect(await compare(items, { granularity: "6h", timezone: "Asia/Kolkata" })).toEqual([]);
  expect(await compare([{ where: "v:>5" }], {})).toEqual([]);
  expect(await compare([{ aggFn: "avg", field: "v" }], {})).toEqual([]);
  expect(await compare([{ groupBy: ["v % 3"] }], {})).toEqual([]);
  expect(await compare(items, { startTime: t0 + 1, endTime: t0 + 3_000_000 })).toEqual([]);
});

afterAll(() => engine[Symbol.asyncDispose]());
