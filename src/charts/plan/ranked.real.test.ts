/** A limit of groups on a real engine: the same groups as ranking all of them here, without sending them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, type ChartRoom, chartRoom, startEngine } from "../../../harness/engine/chart-engine.ts";
import { limitGroups } from "../answer/groups.ts";

const t0 = Date.UTC(2024, 4, 1);
const from = (tableName: string) => ({ databaseName: "c", tableName });
let engine: ChartEngine;
let room: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(`CREATE TABLE c.few ENGINE = MergeTree ORDER BY ts AS SELECT
    toDateTime(${t0 / 1000} + number * 7) AS ts, concat('h', toString(cityHash64(number) % 23)) AS host,
    if(number % 3 = 0, NULL, number % 5) AS level, toInt64(cityHash64(number, 1) % 100) - 50 AS n,
    multiIf(number % 50 = 0, inf, number % 50 = 1, nan, toFloat64(number % 9)) AS f FROM numbers(2000)`);
  await client.command(`CREATE TABLE c.many ENGINE = MergeTree ORDER BY id AS SELECT
    toDateTime(${t0 / 1000}) AS ts, number AS id FROM numbers(1200000)`);
  const source = { kind: "table" as const, timestampValueExpression: "ts" };
  room = chartRoom(client, {
    few: { ...source, name: "few", from: from("few") },
    many: { ...source, name: "many", from: from("many") },
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

const range = { startTime: t0, endTime: t0 + 4 * 3_600_000 - 1, granularity: "30m" as const };

test.each([
  ["counts, with equals", ["host"], [{ aggFn: "count" }, { aggFn: "max", field: "n" }]],
  [
    "values below zero and none",
    ["host", "level"],
    [{ aggFn: "min", field: "n", where: "n:<-20" }, { aggFn: "count" }],
  ],
  ["an expression", ["substring(host, 1, 2)"], [{ aggFn: "avg", field: "n" }]],
  ["infinity and NaN", ["host"], [{ aggFn: "max", field: "f" }]],
  [
    "text",
    ["level"],
    [
      { aggFn: "any", field: "host" },
      { aggFn: "sum", field: "n" },
    ],
  ],
] as const)("ranks as the whole answer would be ranked: %s", async (_, groupBy, items) => {
  const series = items.map((item) => ({ sourceId: "few", groupBy: [...groupBy], ...item }));
  const whole = (await room.guardQuery({ ...range, series })).data;
  const rows = whole.map((row) => ({
    bucket: row.ts_bucket,
    group: row.group,
    values: items.map((_, i) => row[`series_${i}.data`]),
  }));
  for (const limit of [1, 2, 4, 7, 1000]) {
    const { data, truncated } = await room.guardQuery({ ...range, series, limit });
    const expected = limitGroups(rows, limit);
    const got = data.map((row) => ({
      bucket: row.ts_bucket,
      group: row.group,
      values: items.map((_, i) => row[`series_${i}.data`]),
    }));
    const wanted = { rows: expected.rows, truncated: expected.left.length > 0 };
    expect({ rows: got, truncated }, `limit ${limit}`).toEqual(wanted);
  }
});

test("more groups than an answer may have are not an obstacle to a limit", async () => {
  const series = [{ sourceId: "many", aggFn: "max" as const, field: "id", groupBy: ["id"] }];
  const { data, truncated } = await room.guardQuery({ ...range, series, limit: 2 });
  expect([data.map((row) => row["series_0.data"]), truncated]).toEqual([[1_199_998, 1_199_999], true]);
  await expect(room.guardQuery({ ...range, series })).rejects.toMatchObject({ code: "QUERY_FAILED" });
});
