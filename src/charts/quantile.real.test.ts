/** Numbers that were wrong or differed from one refresh to the next: wide integers, decimals, quantiles. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, type ChartRoom, chartRoom, startEngine } from "../../harness/engine/chart-engine.ts";

const t0 = Date.UTC(2024, 2, 11);
const count = 100_000;
let engine: ChartEngine;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE c");
  await engine.client.command(`CREATE TABLE c.t (ts DateTime, big UInt64, wide Int128, dec Decimal(18, 2), f Float64,
    n UInt32, w UInt8) ENGINE = MergeTree ORDER BY ts`);
  await engine.client.command(
    `INSERT INTO c.t SELECT ${t0 / 1000} + number % 60, 1710115200000000000, toInt128('170141183460469231731687303715884105000'),
      number / 4, exp(number % 977 / 40), number, 1 + number % 3 FROM numbers(${count})`,
  );
  // The engine does not tell how many rows a view has.
  await engine.client.command("CREATE VIEW c.v AS SELECT * FROM c.t");
});
afterAll(() => engine[Symbol.asyncDispose]());

const room = (tableName = "t", sampled = {}): ChartRoom => {
  const from = { databaseName: "c", tableName };
  const source = { name: "t", kind: "table" as const, from, timestampValueExpression: "ts" };
  return chartRoom(engine.client, { t: { ...source, ...sampled } });
};
type Item = { aggFn: "avg" | "sum" | "quantile"; field: string; level?: number; where?: string };
let end = t0 + 60_000;
/** The first row, of another range each time, so that nothing that is kept could be the answer. */
async function values(charts: ChartRoom, ...items: Item[]): Promise<(number | null)[]> {
  end += 1;
  const series = items.map((item) => ({ sourceId: "t", ...item }));
  const { data } = await charts.guardQuery({ startTime: t0, endTime: end, granularity: "1h", series });
  return items.map((_, i) => data[0]?.[`series_${i}.data`]);
}

test("averages and sums of wide integers do not wrap around", async () => {
  const [avg, sum, wide] = await values(
    room(),
    { aggFn: "avg", field: "big" },
    { aggFn: "sum", field: "big" },
    { aggFn: "avg", field: "wide" },
  );
  expect((avg as number) / 1_710_115_200_000_000_000).toBeCloseTo(1, 9);
  expect((sum as number) / (1_710_115_200_000_000_000 * count)).toBeCloseTo(1, 9);
  expect((wide as number) / 1.701411834604692e38).toBeCloseTo(1, 9);
});

test("a quantile of no rows is null, of decimals too", async () => {
  const [none, some] = await values(
    room(),
    { aggFn: "quantile", level: 0.5, field: "dec", where: "n:<0" },
    { aggFn: "quantile", level: 0.5, field: "dec" },
  );
  expect([none, some]).toEqual([null, (count - 1) / 8]);
});

test("levels 0 and 1 stand beside others of the same field", async () => {
  const levels = [0, 0.25, 1].map((level) => ({ aggFn: "quantile" as const, level, field: "n" }));
  expect(await values(room(), ...levels)).toEqual([0, (count - 1) / 4, count - 1]);
  const rounded = (await values(room("v"), ...levels)) as number[];
  for (const [i, level] of [0, 0.25, 1].entries()) {
    const wanted = level * (count - 1);
    expect(Math.abs((rounded[i] as number) - wanted)).toBeLessThanOrEqual(wanted * 0.0011);
  }
});

test.each([
  ["exact", () => room(), 1e-9],
  ["rounded where the values may not fit", () => room("v"), 0.0011],
  ["weighed", () => room("t", { sampleRateExpression: "w" }), 1e-9],
  ["weighed and rounded", () => room("v", { sampleRateExpression: "w" }), 0.0011],
])("quantiles are the same six times, and right: %s", async (kind, make, tolerance) => {
  const charts = make();
  const items = [0.5, 0.95].map((level) => ({ aggFn: "quantile" as const, level, field: "f" }));
  const first = (await values(charts, ...items)) as number[];
  for (let i = 0; i < 5; i += 1) expect(await values(charts, ...items)).toEqual(first);
  const weightOf = (i: number) => (kind.startsWith("weighed") ? 1 + (i % 3) : 1);
  const sorted = Array.from({ length: count }, (_, i) => Array(weightOf(i)).fill(Math.exp((i % 977) / 40)))
    .flat()
    .sort((a, b) => a - b);
  for (const [i, level] of [0.5, 0.95].entries()) {
    const wanted = sorted[Math.round(level * (sorted.length - 1))] as number;
    expect(Math.abs((first[i] as number) / wanted - 1)).toBeLessThanOrEqual(tolerance);
  }
});

test("decimals that differ in a digit that doubles do not have are groups of their own", async () => {
  const { data } = await room().guardQuery({
    ...{ startTime: t0, endTime: t0 + 60_000, granularity: "1h" },
    series: [
      {
        sourceId: "t",
        aggFn: "count",
        groupBy: [
          "CAST(n % 2, 'Decimal(38, 20)') + CAST('123456789012345678.00000000000000000001', 'Decimal(38, 20)')",
        ],
      },
    ],
  });
  expect(data.map((row) => row.group)).toEqual([
    ["123456789012345678.00000000000000000001"],
    ["123456789012345679.00000000000000000001"],
  ]);
  const narrow = await room().guardQuery({
    ...{ startTime: t0, endTime: t0 + 60_000, granularity: "1h" },
    series: [{ sourceId: "t", aggFn: "count", groupBy: ["dec"], where: "n:[2 TO 3]" }],
  });
  expect(narrow.data.map((row) => row.group)).toEqual([[0.5], [0.75]]);
});
