/**
 * Rows fall into the same buckets on a real engine as they do here, whatever the type of their time, the order of the
 * table, the range, the granularity and the zone; and series planned together say what each says alone.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChartEngine,
  type ChartRoom,
  chartRoom,
  type RequestInput,
  startEngine,
} from "../../../harness/engine/chart-engine.ts";
import { Dice } from "../../../harness/random.ts";
import { granularities, type SeriesItem } from "../../api/charts.ts";
import { instantOf, offsetAt } from "../timezone.ts";
import { Buckets } from "./buckets.ts";

/** `ns` since the epoch, or days since it for dates. */
type Row = { readonly time: bigint | null; readonly a: number; readonly b: string; readonly n: number };
type Table = { readonly type: string; readonly digits: number | "date"; readonly order: string; readonly rows: Row[] };

const dayMs = 86_400_000;
/** Days around clock changes of the zones below, a leap day, the epoch, and one far ahead. */
const days = ["2024-03-31", "2024-10-27", "2024-02-29", "2024-11-03", "1970-01-01", "2105-12-31"].map(Date.parse);
const zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe"];
const orders = ["tuple()", "t", "(b, t)", "tuple()) PARTITION BY (a"];

const dice = new Dice(7);

/** A time near one of the days; often exactly where a bucket begins or ends. */
function someMs(): number {
  const step = dice.pick([1, 1, 30_000, 1_800_000, 3_600_000]);
  return dice.pick(days) + Math.floor((dice.below(5 * dayMs) - 2 * dayMs) / step) * step - dice.pick([0, 0, 1]);
}

function someTime(digits: number | "date", nullable: boolean): bigint | null {
  if (nullable && dice.below(5) === 0) return null;
  if (digits === "date") return BigInt(Math.floor(someMs() / dayMs));
  const ns = BigInt(someMs()) * 1_000_000n + BigInt(dice.pick([0, 0, 1, 999_999, dice.below(1_000_000)]));
  const unit = 10n ** BigInt(9 - digits);
  return (ns / unit) * unit;
}

/** As the engine reads it, whatever the zone of the column. */
function written({ type, digits }: Table, time: bigint | null): string | number | null {
  if (time === null) return null;
  if (type.includes("DateTime(")) return Number(time / 1_000_000_000n);
  if (digits === "date") return new Date(Number(time) * dayMs).toISOString().slice(0, 10);
  const second = 1_000_000_000n;
  const fraction = ((time % second) + second) % second;
  const whole = new Date(Number((time - fraction) / 1_000_000n)).toISOString().slice(0, 19).replace("T", " ");
  return digits === 0 ? whole : `${whole}.${String(fraction).padStart(9, "0").slice(0, digits)}`;
}

function makeTable(type: string, digits: number | "date"): Table {
  const nullable = type.startsWith("Nullable");
  const old = !/^(Nullable\()?(Date|DateTime)\b(?!64)/.test(type);
  const rows = Array.from({ length: 600 }, () => {
    const time = someTime(digits, nullable);
    // Date and DateTime begin with the epoch.
    return {
      time: time === null || old || time >= 0n ? time : -time,
      a: dice.below(4),
      b: dice.pick(["x", "y", "z"]),
      n: dice.below(9),
    };
  });
  return { type, digits, order: nullable ? "tuple()" : dice.pick(orders), rows };
}

const tables: Table[] = [
  makeTable("Date", "date"),
  makeTable("Date32", "date"),
  makeTable("Nullable(Date)", "date"),
  makeTable("DateTime('UTC')", 0),
  makeTable("DateTime('America/New_York')", 0),
  makeTable("Nullable(DateTime('UTC'))", 0),
  ...[0, 1, 3, 5, 6, 9].map((digits) => makeTable(`DateTime64(${digits}, 'UTC')`, digits)),
  makeTable("Nullable(DateTime64(6, 'UTC'))", 6),
];

let engine: ChartEngine;
let room: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  const sources: Parameters<typeof chartRoom>[1] = {};
  for (const [i, table] of tables.entries()) {
    await client.command(
      `CREATE TABLE c.t${i} (t ${table.type}, a UInt8, b LowCardinality(String), n Int32) ENGINE = MergeTree
        ORDER BY (${table.order}) SETTINGS index_granularity = 16`.replace("(tuple())", "tuple()"),
    );
    // Three parts, so that some ranges prune and others do not.
    for (let part = 0; part < 3; part += 1) {
      const lines = table.rows
        .filter((_, row) => row % 3 === part)
        .map((row) => JSON.stringify({ ...row, t: written(table, row.time), time: undefined }));
      await client.command(`INSERT INTO c.t${i} FORMAT JSONEachRow`, { body: Buffer.from(lines.join("\n")) });
    }
    sources[`t${i}`] = {
      name: `t${i}`,
      kind: "table",
      from: { databaseName: "c", tableName: `t${i}` },
      timestampValueExpression: "t",
    };
  }
  room = chartRoom(client, sources);
});
afterAll(() => engine[Symbol.asyncDispose]());

type Filter = Pick<SeriesItem, "where"> & {
  readonly whereLanguage?: "sql";
  readonly filters?: SeriesItem["filters"];
  readonly keep: (row: Row) => boolean;
};
const filters: Filter[] = [
  { where: "", keep: () => true },
  { where: "a:1", keep: ({ a }) => a === 1 },
  { where: "a:>1", keep: ({ a }) => a > 1 },
  { where: 'b:"x"', keep: ({ b }) => b === "x" },
  { where: '-b:"y"', keep: ({ b }) => b !== "y" },
  { where: "a:7", keep: () => false },
  { where: "n % 2 = 1 AND a != 3", whereLanguage: "sql", keep: ({ n, a }) => n % 2 === 1 && a !== 3 },
  { where: "n - 4", whereLanguage: "sql", keep: ({ n }) => n !== 4 },
  {
    where: "a:>1 OR a:1",
    filters: [{ type: "sql", condition: "n = 1 OR n = 2 OR n > 3" }],
    keep: ({ n, a }) => a >= 1 && (n === 1 || n === 2 || n > 3),
  },
  {
    where: "",
    filters: [
      { type: "lucene", condition: 'b:"x"' },
      { type: "sql", condition: "n - 4" },
    ],
    keep: ({ n, b }) => b === "x" && n !== 4,
  },
];

type Case = { readonly request: RequestInput; readonly filters: readonly Filter[] };

function makeCase(i: number, count: boolean): Case {
  const center = dice.pick(days);
  const startMs = Math.max(0, dice.pick([someMs(), center]));
  const length = dice.pick([3_600_000, 6 * 3_600_000, dayMs, 3 * dayMs, dice.below(3 * dayMs)]);
  const granularity = dice.pick(granularities);
  const picked = Array.from({ length: 1 + dice.below(5) }, () => dice.pick(filters));
  const request: RequestInput = {
    startTime: startMs,
    endTime: Math.max(startMs + length - dice.pick([0, 1]), 100_000_000_000 + (startMs < 1e11 ? dayMs : 0)),
    granularity: startMs < 1e11 ? "30d" : granularity,
    timezone: dice.pick(zones),
    series: picked.map(({ where, whereLanguage, filters: more }, index) => ({
      sourceId: `t${i}`,
      where,
      ...(whereLanguage && { whereLanguage }),
      ...(more && { filters: more }),
      ...(count || index % 2 === 0 ? { aggFn: "count" as const } : { aggFn: "sum" as const, field: "n" }),
    })),
  };
  return { request, filters: picked };
}

function dateAt(ms: number, zone: string): number {
  return Math.floor((ms + offsetAt(ms, zone)) / dayMs);
}

/** The answer by the rule: a time belongs to the bucket that holds it, a date to the one in which its day begins. */
function plainly(table: Table, { request, filters: picked }: Case): Map<number, number[]> {
  const zone = request.timezone as string;
  const { startTime, endTime } = request;
  const buckets = new Buckets({ startMs: startTime, endMs: endTime, granularity: request.granularity ?? "auto", zone });
  const answer = new Map<number, { values: number[]; met: boolean }>();
  for (const row of table.rows) {
    if (row.time === null) continue;
    let ms: number;
    if (table.digits === "date") {
      const day = Number(row.time);
      if (day < dateAt(startTime, zone) || day > dateAt(endTime, zone)) continue;
      const at = new Date(day * dayMs);
      const clock = { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate() };
      ms = instantOf({ ...clock, hour: 0, minute: 0, second: 0 }, zone);
    } else {
      if (row.time < BigInt(startTime) * 1_000_000n || row.time >= BigInt(endTime + 1) * 1_000_000n) continue;
      ms = Number(row.time / 1_000_000n);
    }
    const start = buckets.startOf(buckets.indexOf(ms));
    const entry = answer.get(start) ?? { values: picked.map(() => 0), met: false };
    answer.set(start, entry);
    for (const [i, { keep }] of picked.entries()) {
      if (!keep(row)) continue;
      entry.met = true;
      entry.values[i] = (entry.values[i] as number) + (request.series[i]?.aggFn === "sum" ? row.n : 1);
    }
  }
  const met = [...answer].filter(([, entry]) => entry.met).sort(([a], [b]) => a - b);
  return new Map(met.map(([start, { values }]) => [start, values]));
}

describe.each(tables.map((table, i) => ({ ...table, i })))("time of type $type, ordered by $order", (table) => {
  test.each([
    ["counts", true],
    ["counts and sums", false],
  ])("random ranges, granularities, zones and filters: %s", async (_, count) => {
    let rows = 0;
    for (let round = 0; round < 8; round += 1) {
      const one = makeCase(table.i, count);
      const { data } = await room.guardQuery(one.request);
      const got = data.map((row) => [row.ts_bucket, one.filters.map((_, i) => row[`series_${i}.data`])]);
      expect(got, JSON.stringify(one.request)).toEqual([...plainly(table, one)]);
      rows += got.length;
    }
    expect(rows).toBeGreaterThan(0);
  });
});

test("coarser times that cannot hold the row's time do not prune", async () => {
  const { client } = engine;
  await client.command(`CREATE TABLE c.far (t DateTime64(3, 'UTC'), h DateTime MATERIALIZED toStartOfHour(t),
    d Date MATERIALIZED toDate(t), year Date MATERIALIZED toStartOfYear(t)) ENGINE = MergeTree ORDER BY (h, d)`);
  await client.command(
    "INSERT INTO c.far VALUES ('2106-02-07 06:28:15'), ('2106-02-07 06:28:17'), ('2149-06-06 12:00:00'), ('2150-01-01 00:00:00'), ('2200-01-01 00:00:00')",
  );
  const from = { databaseName: "c", tableName: "far" };
  const lists = ["t", "toStartOfHour(t), t", "h, t", "d, t", "year, h, d, t", "t, addDays(t, 40)"];
  const source = (list: string) => ({ name: list, kind: "table" as const, from, timestampValueExpression: list });
  const far = chartRoom(client, Object.fromEntries(lists.map((list) => [list, source(list)])));
  for (const list of lists) {
    const series = [{ sourceId: list, aggFn: "count" as const }];
    const { data } = await far.guardQuery({ startTime: 0, endTime: Date.UTC(2201, 0, 1), granularity: "30d", series });
    expect(
      data.map((row) => row["series_0.data"]),
      list,
    ).toEqual([2, 1, 1, 1]);
    const only = { startTime: Date.UTC(2106, 1, 7, 6, 28, 15), endTime: Date.UTC(2106, 1, 7, 6, 28, 17), series };
    expect((await far.guardQuery({ ...only, granularity: "1h" })).data[0]?.["series_0.data"], list).toBe(2);
  }
});

test("nothing is lost at the ends of what the engine's times can hold", async () => {
  const { client } = engine;
  await client.command("CREATE TABLE c.ends (t DateTime64(9, 'UTC')) ENGINE = MergeTree ORDER BY t");
  await client.command(
    "INSERT INTO c.ends VALUES ('1900-01-01 00:00:00'), ('1970-01-01 00:00:00'), ('2262-01-01 00:00:00')",
  );
  const ends = chartRoom(client, {
    ends: {
      name: "ends",
      kind: "table",
      from: { databaseName: "c", tableName: "ends" },
      timestampValueExpression: "t",
    },
  });
  const latest = Date.UTC(2262, 0, 1);
  for (const timezone of zones) {
    const counts = [0, latest - dayMs].map(async (startTime) => {
      const series = ["", "t:>1950-01-01"].map((where) => ({ sourceId: "ends", aggFn: "count" as const, where }));
      const { data } = await ends.guardQuery({ startTime, endTime: latest, granularity: "30d", timezone, series });
      return data.map((row) => row["series_1.data"]);
    });
    expect(await Promise.all(counts), timezone).toEqual([[1, 1], [1]]);
  }
});
