/** Metrics on a real engine, against the same arithmetic written plainly over the same points. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChartEngine,
  type ChartRoom,
  chartRoom,
  type RequestInput,
  startEngine,
} from "../../../harness/engine/chart-engine.ts";
import { Dice } from "../../../harness/random.ts";

let engine: ChartEngine;
let room: ChartRoom;

const scalarColumns = `
  ServiceName LowCardinality(String), MetricName String, Attributes Map(LowCardinality(String), String),
  ResourceAttributes Map(LowCardinality(String), String), StartTimeUnix DateTime64(9), TimeUnix DateTime64(9),
  Flags UInt32`;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE m");
  const order = "ENGINE = MergeTree ORDER BY (MetricName, TimeUnix)";
  await client.command(`CREATE TABLE m.gauge (${scalarColumns}, Value Float64) ${order}`);
  await client.command(
    `CREATE TABLE m.sum (${scalarColumns}, Value Float64, AggregationTemporality Int32, IsMonotonic Bool) ${order}`,
  );
  await client.command(
    `CREATE TABLE m.histogram (${scalarColumns}, Count UInt64, Sum Float64, BucketCounts Array(UInt64),
      ExplicitBounds Array(Float64), AggregationTemporality Int32) ${order}`,
  );
  room = chartRoom(client, {
    metrics: {
      name: "metrics",
      kind: "metric",
      from: { databaseName: "m", tableName: "" },
      metricTables: { gauge: "gauge", sum: "sum", histogram: "histogram" },
    },
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

const t0 = Date.UTC(2024, 4, 1, 10, 0, 0);
const minute = 60_000;
const at = (ms: number) => new Date(ms).toISOString().replace("T", " ").replace("Z", "");

type Point = { name: string; pod?: string; ms: number; value: number; startMs?: number };

async function insert(table: "gauge" | "sum", points: readonly Point[], extra: object = {}): Promise<void> {
  const lines = points.map((point) =>
    JSON.stringify({
      MetricName: point.name,
      Attributes: { pod: point.pod ?? "a" },
      StartTimeUnix: at(point.startMs ?? 0),
      TimeUnix: at(point.ms),
      Value: point.value,
      ...extra,
    }),
  );
  await engine.client.command(`INSERT INTO m.${table} FORMAT JSONEachRow`, { body: Buffer.from(lines.join("\n")) });
}

type Ask = Partial<RequestInput["series"][number]> & { range?: Partial<RequestInput> };

async function values(type: "gauge" | "sum" | "histogram", name: string, { range, ...item }: Ask = {}) {
  const { data } = await room.guardQuery({
    startTime: t0,
    endTime: t0 + 10 * minute - 1,
    granularity: "5m",
    ...range,
    series: [{ sourceId: "metrics", aggFn: "sum", metricName: name, metricDataType: type, ...item }],
  });
  return data.map((row) => ({ ms: row.ts_bucket - t0, group: row.group, value: row["series_0.data"] }));
}

const only = async (...args: Parameters<typeof values>) => (await values(...args)).map(({ value }) => value);

test("a point without a recorded value is not a point, in all three shapes", async () => {
  // A target that is gone leaves one, with the value 0.
  const gone = { ms: t0 + 2 * minute, value: 0 };
  const counter = { AggregationTemporality: 2, IsMonotonic: true };
  const level = [1, 3].map((step) => ({ name: "stale", ms: t0 + step * minute, value: 1_000_000 + step * 10 }));
  for (const [table, extra] of [
    ["gauge", {}],
    ["sum", counter],
  ] as const) {
    await insert(table, level, extra);
    await insert(table, [{ name: "stale", ...gone }], { ...extra, Flags: 1 });
    await insert(table, [{ name: "stale", ms: t0 + 4 * minute, value: 0 }], { ...extra, Flags: 3 });
  }
  expect(await only("gauge", "stale", { aggFn: "min", range: { granularity: "1m" } })).toEqual([1_000_010, 1_000_030]);
  expect(await only("sum", "stale", { aggFn: "increase" })).toEqual([20]);
  const point = (ms: number, count: number, more: object) =>
    JSON.stringify({
      ...{ MetricName: "stale", Attributes: { pod: "a" }, StartTimeUnix: at(t0), TimeUnix: at(ms), Count: count },
      ...{ Sum: count, BucketCounts: [count, 0], ExplicitBounds: [1], AggregationTemporality: 2, ...more },
    });
  const lines = [point(t0 + minute, 7, {}), point(gone.ms, 0, { Flags: 1 }), point(t0 + 3 * minute, 9, {})];
  await engine.client.command("INSERT INTO m.histogram FORMAT JSONEachRow", { body: Buffer.from(lines.join("\n")) });
  expect(await only("histogram", "stale", { aggFn: "count" })).toEqual([9]);
});

describe("gauges", () => {
  test("a series counts once per bucket, with its last value by time", async () => {
    await insert("gauge", [
      { name: "g1", ms: t0 + 2 * minute, value: 25 },
      { name: "g1", ms: t0 + minute, value: 15 },
      { name: "g1", pod: "b", ms: t0 + minute, value: 5 },
    ]);
    expect(await only("gauge", "g1", { aggFn: "sum" })).toEqual([30]);
    expect(await only("gauge", "g1", { aggFn: "avg" })).toEqual([15]);
    expect(await only("gauge", "g1", { aggFn: "count" })).toEqual([2]);
    expect(await only("gauge", "g1", { aggFn: "max" })).toEqual([25]);
    expect(await only("gauge", "g1", { aggFn: "last_value" })).toEqual([25]);
    expect(await values("gauge", "g1", { aggFn: "min", groupBy: ["Attributes['pod']"] })).toEqual([
      { ms: 0, group: ["a"], value: 25 },
      { ms: 0, group: ["b"], value: 5 },
    ]);
  });

  test("the first bucket is whole although the range begins inside it, and a coarse bucket is not lost", async () => {
    await insert("gauge", [{ name: "g2", ms: t0 + minute, value: 7 }]);
    const range = { startTime: t0 + 2 * minute, endTime: t0 + 4 * minute };
    expect(await only("gauge", "g2", { range })).toEqual([7]);
    expect(await only("gauge", "g2", { range: { granularity: "1d" } })).toEqual([7]);
  });

  test("without buckets a series gives its last value of the range, and a sum what it grew by", async () => {
    await insert("gauge", [
      { name: "g3", ms: t0 + minute, value: 1 },
      { name: "g3", ms: t0 + 8 * minute, value: 4 },
      { name: "g3", pod: "b", ms: t0 + 2 * minute, value: 5 },
      { name: "g3", pod: "b", ms: t0 + 11 * minute, value: 90 },
    ]);
    const range = { granularity: "none" as const };
    expect(await values("gauge", "g3", { range })).toEqual([{ ms: 0, group: [], value: 9 }]);
    const points = [100, 150, 7].map((value, i) => ({ name: "d3", ms: t0 + 4 * i * minute, value }));
    await insert("sum", points, { AggregationTemporality: 1, IsMonotonic: true });
    expect(await only("sum", "d3", { range })).toEqual([257]);
    expect(await only("sum", "no such metric", { range })).toEqual([0]);
  });

  test("a metric is found by field alone, as callers of the HyperDX API send it", async () => {
    const { data } = await room.guardQuery({
      startTime: t0,
      endTime: t0 + 9 * minute,
      granularity: "1h",
      series: [{ sourceId: "metrics", aggFn: "max", field: "g2", metricDataType: "gauge" }],
    });
    expect(data).toEqual([{ ts_bucket: t0, group: [], "series_0.data": 7 }]);
  });
});

describe("sums", () => {
  test("delta points add up", async () => {
    const points = [100, 150].map((value, i) => ({ name: "delta", ms: t0 + i * minute, value }));
    await insert("sum", points, { AggregationTemporality: 1, IsMonotonic: true });
    expect(await only("sum", "delta")).toEqual([250]);
    expect(await only("sum", "delta", { aggFn: "increase" })).toEqual([250]);
  });

  test("cumulative points count what they grew by; after a reset the whole new value", async () => {
    const points = [100, 150, 10, 25].map((value, i) => ({ name: "cumulative", ms: t0 + i * minute, value }));
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: true });
    expect(await only("sum", "cumulative")).toEqual([50 + 10 + 15]);
  });

  test("growth across the begin of the range belongs to the first bucket, and not the whole counter", async () => {
    const points = [1000, 1040, 1100].map((value, i) => ({ name: "edge", ms: t0 + (i * 5 - 1) * minute, value }));
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: true });
    expect(await only("sum", "edge")).toEqual([40, 60]);
    // Buckets that are shorter than the pause between two points.
    const range = { granularity: "30s" as const, endTime: t0 + 5 * minute };
    expect(await only("sum", "edge", { range })).toEqual([40]);
  });

  test("two instances with equal attributes are told apart by when they began", async () => {
    const points = [0, 1, 2, 3].flatMap((i) => [
      { name: "twins", ms: t0 + i * minute, value: 1000 + i, startMs: t0 - 86_400_000 },
      { name: "twins", ms: t0 + i * minute + 1, value: 10 * i, startMs: t0 - 43_200_000 },
    ]);
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: true });
    expect(await only("sum", "twins")).toEqual([3 + 30]);
  });

  test("an instance that began within the range counts from zero", async () => {
    const points = [{ name: "young", ms: t0 + 2 * minute, value: 12, startMs: t0 + minute }];
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: true });
    expect(await only("sum", "young")).toEqual([12]);
  });

  test("a sum that may fall is a level", async () => {
    const points = [5, 9, 4].map((value, i) => ({ name: "level", ms: t0 + i * minute, value }));
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: false });
    expect(await only("sum", "level")).toEqual([4]);
  });

  test("many series with resets, two filters in one request: equal to plain arithmetic", async () => {
    const dice = new Dice(7);
    const points: Point[] = [];
    for (const pod of ["a", "b", "c", "d"]) {
      let value = dice.below(1000);
      for (let ms = t0 - 4 * minute; ms < t0 + 20 * minute; ms += 37_000) {
        value = dice.chance(0.1) ? dice.below(5) : value + dice.below(100);
        points.push({ name: "random", pod, ms, value });
      }
    }
    await insert("sum", points, { AggregationTemporality: 2, IsMonotonic: true });
    const grown = (keep: (pod: string) => boolean) => {
      const sums = [0, 0, 0, 0];
      for (const pod of ["a", "b", "c", "d"].filter(keep)) {
        const own = points.filter((point) => point.pod === pod);
        for (const [i, point] of own.entries()) {
          const before = own[i - 1];
          if (before === undefined || point.ms < t0) continue;
          const growth = point.value < before.value ? point.value : point.value - before.value;
          sums[Math.floor((point.ms - t0) / (5 * minute))]! += growth;
        }
      }
      return sums;
    };
    const series = ['Attributes.pod:"a"', '-Attributes.pod:"a"'].map((where) => {
      return {
        sourceId: "metrics",
        aggFn: "sum" as const,
        metricName: "random",
        metricDataType: "sum" as const,
        where,
      };
    });
    const range = { startTime: t0, endTime: t0 + 20 * minute - 1, granularity: "5m" as const };
    const { data } = await room.guardQuery({ ...range, series });
    expect(data.map((row) => row["series_0.data"])).toEqual(grown((pod) => pod === "a"));
    expect(data.map((row) => row["series_1.data"])).toEqual(grown((pod) => pod !== "a"));
  });
});

describe("histograms", () => {
  const point = (
    name: string,
    ms: number,
    counts: number[],
    options: { bounds?: number[]; kind?: number; pod?: string } = {},
  ) => ({
    MetricName: name,
    Attributes: { pod: options.pod ?? "a" },
    TimeUnix: at(ms),
    Count: counts.reduce((a, b) => a + b, 0),
    Sum: counts.reduce((a, b) => a + b, 0) * 2,
    BucketCounts: counts,
    ExplicitBounds: options.bounds ?? [10, 50, 100],
    AggregationTemporality: options.kind ?? 1,
  });
  const insertAll = (points: object[]) =>
    engine.client.command("INSERT INTO m.histogram FORMAT JSONEachRow", {
      body: Buffer.from(points.map((one) => JSON.stringify(one)).join("\n")),
    });

  test("delta points: quantiles are interpolated, counts and sums add up", async () => {
    await insertAll([point("h1", t0 + minute, [5, 10, 3, 0]), point("h1", t0 + 2 * minute, [3, 12, 5, 2])]);
    const quantile = (level: number) => only("histogram", "h1", { aggFn: "quantile", level });
    expect(await quantile(0.95)).toEqual([100]);
    expect((await quantile(0.5))[0]).toBeCloseTo(10 + ((20 - 8) / 22) * 40, 9);
    expect((await quantile(0.1))[0]).toBeCloseTo((4 / 8) * 10, 9);
    expect(await only("histogram", "h1", { aggFn: "count" })).toEqual([40]);
    expect(await only("histogram", "h1", { aggFn: "sum" })).toEqual([80]);
    expect(await only("histogram", "h1", { aggFn: "avg" })).toEqual([2]);
  });

  test("cumulative points count what they grew by, also in the first bucket and after a reset", async () => {
    await insertAll([
      point("h2", t0 - minute, [100, 100, 0, 0], { kind: 2 }),
      point("h2", t0 + minute, [104, 110, 0, 0], { kind: 2 }),
      point("h2", t0 + 6 * minute, [1, 2, 0, 0], { kind: 2 }),
    ]);
    expect(await values("histogram", "h2", { aggFn: "count" })).toEqual([
      { ms: 0, group: [], value: 14 },
      { ms: 5 * minute, group: [], value: 3 },
    ]);
  });

  test("series of different bounds are added as they are", async () => {
    await insertAll([
      point("h3", t0 + minute, [0, 10, 0], { bounds: [0, 100], pod: "a" }),
      point("h3", t0 + minute, [0, 10, 0], { bounds: [50, 100], pod: "b" }),
    ]);
    // Below 75 lie three quarters of the first ten and half of the second ten.
    expect((await only("histogram", "h3", { aggFn: "quantile", level: 12.5 / 20 }))[0]).toBeCloseTo(75, 9);
  });

  test("groups are kept apart", async () => {
    await insertAll([
      point("h4", t0 + minute, [4, 0, 0, 0], { pod: "a" }),
      point("h4", t0 + minute, [0, 0, 6, 0], { pod: "b" }),
    ]);
    const groupBy = ["Attributes.pod"];
    expect(await values("histogram", "h4", { aggFn: "quantile", level: 0.5, groupBy })).toEqual([
      { ms: 0, group: ["a"], value: 5 },
      { ms: 0, group: ["b"], value: 75 },
    ]);
  });

  test("what histograms cannot answer is refused", async () => {
    await expect(only("histogram", "h1", { aggFn: "quantile" })).rejects.toThrow("quantile must have a level");
    await expect(only("histogram", "h1", { aggFn: "max" })).rejects.toThrow("max is not available for histograms");
  });
});
