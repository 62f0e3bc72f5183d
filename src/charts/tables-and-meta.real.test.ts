/** Answers without buckets, what is said of an answer besides its rows, and groups of unusual values. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChartEngine,
  type ChartRoom,
  chartRoom,
  type RequestInput,
  startEngine,
} from "../../harness/engine/chart-engine.ts";
import { metaOf } from "./outcome.ts";
import { Buckets } from "./plan/buckets.ts";

const t0 = Date.UTC(2024, 4, 1, 10, 20);
let engine: ChartEngine;
let room: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(`CREATE TABLE c.t (ts DateTime64(9, 'UTC'), s String, n Int32, f Float64, e Enum8('z' = 1, 'a' = 2),
    k UInt64, fs FixedString(3), nn Nullable(Int8)) ENGINE = MergeTree ORDER BY ts`);
  await client.command(`INSERT INTO c.t SELECT fromUnixTimestamp64Milli(${t0} + number * 60000),
    ['x', 'y', 'y', 'w', 'w', 'w'][number % 6 + 1], number, [1.5, nan, inf, -inf, nan, 0][number % 6 + 1],
    if(number % 2 = 0, 'z', 'a'), 9007199254740992 + number % 3, if(number % 2 = 0, 'b', 'ab'),
    if(number % 3 = 0, NULL, number % 3) FROM numbers(60)`);
  await client.command("CREATE TABLE c.u AS c.t ENGINE = MergeTree ORDER BY ts");
  await client.command("INSERT INTO c.u SELECT * FROM c.t");
  const source = (tableName: string) => {
    const from = { databaseName: "c", tableName };
    return {
      name: tableName,
      kind: "table" as const,
      from,
      timestampValueExpression: "ts",
      implicitColumnExpression: "s",
    };
  };
  room = chartRoom(client, { t: source("t"), u: source("u") });
});
afterAll(() => engine[Symbol.asyncDispose]());

type Item = Partial<RequestInput["series"][number]>;
const body = (series: Item[], extra: Partial<RequestInput> = {}): RequestInput => ({
  ...{ startTime: t0, endTime: t0 + 3_599_999, granularity: "none" as const },
  ...extra,
  series: series.map((item) => ({ sourceId: "t", aggFn: "count", ...item })),
});
const rows = async (series: Item[], extra?: Partial<RequestInput>) => {
  const { data } = await room.guardQuery(body(series, extra));
  return data.map((row) => [row.others === true ? "others" : row.group[0], row["series_0.data"]]);
};

describe("without buckets", () => {
  test("one number for the whole range, also of no rows", async () => {
    const { data } = await room.guardQuery(body([{}, { aggFn: "max", field: "n" }, { aggFn: "quantile", field: "n" }]));
    expect(data).toEqual([
      { ts_bucket: t0, group: [], "series_0.data": 60, "series_1.data": 59, "series_2.data": 29.5 },
    ]);
    const nothing = await room.guardQuery(body([{ where: "n:>99" }, { where: "n:>99", aggFn: "avg", field: "n" }]));
    expect(nothing.data).toEqual([{ ts_bucket: t0, group: [], "series_0.data": 0, "series_1.data": null }]);
  });

  test("a row per group, in order, the first ones, and the others", async () => {
    const groupBy = ["s"];
    expect(await rows([{ groupBy }], { orderBy: "series_0" })).toEqual([
      ["w", 30],
      ["y", 20],
      ["x", 10],
    ]);
    expect(await rows([{ groupBy }], { orderBy: "series_0", order: "asc" })).toEqual([
      ["x", 10],
      ["y", 20],
      ["w", 30],
    ]);
    expect(await rows([{ groupBy }], { orderBy: "group", order: "desc" })).toEqual([
      ["y", 20],
      ["x", 10],
      ["w", 30],
    ]);
    expect(await rows([{ groupBy }], { orderBy: "series_0", limit: 1 })).toEqual([["w", 30]]);
    expect(await rows([{ groupBy }], { orderBy: "series_0", order: "asc", limit: 1 })).toEqual([["x", 10]]);
    expect(await rows([{ groupBy }], { orderBy: "series_0", limit: 1, others: true })).toEqual([
      ["w", 30],
      ["others", 30],
    ]);
    const max = { groupBy, aggFn: "max" as const, field: "n" };
    expect(await rows([max], { orderBy: "series_0", limit: 1, others: true })).toEqual([
      ["w", 59],
      ["others", 56],
    ]);
  });

  test("others of buckets follow the groups of each", async () => {
    const got = await rows([{ groupBy: ["s"] }], { granularity: "30m", limit: 1, others: true });
    expect(got).toEqual([
      ["w", 4],
      ["others", 6],
      ["w", 15],
      ["others", 15],
      ["w", 11],
      ["others", 9],
    ]);
  });

  test("CSV says the others without a group", async () => {
    const { text } = await room.outcome(body([{ groupBy: ["s"] }], { limit: 1, others: true }), { format: "csv" });
    expect(text.split("\r\n").slice(1, 3)).toEqual([`${t0},w,30`, `${t0},,30`]);
  });

  test("the number of the others' groups is told with them, and only then", async () => {
    const tail = async (members: object) => {
      const { text } = await room.outcome(body([{ groupBy: ["s"] }], members));
      const { truncated, otherGroups } = JSON.parse(text);
      return { truncated, otherGroups };
    };
    expect(await tail({ limit: 1, others: true })).toEqual({ truncated: true, otherGroups: 2 });
    expect(await tail({ limit: 3, others: true })).toEqual({ truncated: false, otherGroups: 0 });
    expect(await tail({ limit: 1 })).toEqual({ truncated: true, otherGroups: undefined });
  });
});

test("what is known of an answer", async () => {
  const request = body([{ where: "x", aggFn: "avg", field: "s" }], {
    granularity: "30m",
    displayType: "line",
  } as object);
  const outcome = await room.outcome(request);
  const range = { startMs: request.startTime, endMs: request.endTime };
  const buckets = new Buckets({ ...range, granularity: "30m", zone: "UTC" });
  const warnings = [
    "displayType: is not a known member and has no effect",
    "series.0.field: s is text: only values that are numbers count",
  ];
  expect(metaOf(outcome, buckets, range, 5)).toEqual({
    ...{ bucketMs: 1_800_000, firstBucketPartial: true, lastBucketPartial: true },
    ...{ rowsRead: 60, bytesRead: expect.any(Number), elapsedMs: 5, cache: "miss", rollups: [], warnings },
    asOf: new Date(outcome.asOfMs).toISOString(),
  });
  const again = metaOf(await room.outcome(request), buckets, range, 1);
  expect(again).toMatchObject({ cache: "hit", rowsRead: 0, warnings });
});

describe("groups of unusual values", () => {
  const sources = [["t"], ["t", "u"]] as const;
  test.each(sources)(
    "are told apart and sorted by what is seen, from one source and joined from two: %s %s",
    async (...ids) => {
      const groups = async (groupBy: string[]) => {
        const { data } = await room.guardQuery(body(ids.map((sourceId) => ({ sourceId, groupBy }))));
        for (const row of data) expect(row[`series_${ids.length - 1}.data`]).toBe(row["series_0.data"]);
        return data.map((row) => [row.group[0], row["series_0.data"]]);
      };
      expect(await groups(["e"])).toEqual([
        ["a", 30],
        ["z", 30],
      ]);
      expect(await groups(["k"])).toEqual([
        ["9007199254740992", 20],
        ["9007199254740993", 20],
        ["9007199254740994", 20],
      ]);
      expect(await groups(["fs"])).toEqual([
        ["ab", 30],
        ["b", 30],
      ]);
      expect(await groups(["nn"])).toEqual([
        [1, 20],
        [2, 20],
        [null, 20],
      ]);
      expect(new Map((await groups(["f"])) as [unknown, number][])).toEqual(
        new Map<unknown, number>([
          [0, 10],
          [1.5, 10],
          ["inf", 10],
          ["-inf", 10],
          ["nan", 20],
        ]),
      );
    },
  );
});

test("two adjacent ranges count every row once, to the nanosecond", async () => {
  await engine.client.command(
    `INSERT INTO c.t (ts, s) SELECT fromUnixTimestamp64Nano(${t0 - 1000}000000 + number * 1000), 'q' FROM numbers(5000)`,
  );
  const counts = await Promise.all(
    [0, 1, 2, 3, 4].map((i) => rows([{ where: "q" }], { startTime: t0 - 1000 + i, endTime: t0 - 1000 + i })),
  );
  expect(counts.flat().map(([, count]) => count)).toEqual([1000, 1000, 1000, 1000, 1000]);
});

test("a zone that is not known is refused with those that are like it", async () => {
  for (const [zone, meant] of [
    ["Europe/Berln", "Europe/Berlin"],
    ["Berlin", "Europe/Berlin"],
    ["new york", "America/New_York"],
  ]) {
    await expect(room.guardQuery(body([{}], { timezone: zone as string }))).rejects.toThrow(`did you mean ${meant}`);
  }
});
