/** Long answers on a real engine: sent as they come, the same as short ones, and never whole when they are not. */
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, chartRoom, type RequestInput, startEngine } from "../../../harness/engine/chart-engine.ts";
import { seriesRequest } from "../../api/charts.ts";

const t0 = Date.UTC(2024, 4, 1);
const groups = 60_000;
let engine: ChartEngine;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE c");
  await engine.client.command(`CREATE TABLE c.many ENGINE = MergeTree ORDER BY id AS SELECT
    toDateTime(${t0 / 1000}) + number % 7200 AS ts, number % ${groups} AS id, concat('a"b,\n', toString(id)) AS name
    FROM numbers(${groups * 2})`);
});
afterAll(() => engine[Symbol.asyncDispose]());

const sources = {
  many: {
    name: "many",
    kind: "table" as const,
    from: { databaseName: "c", tableName: "many" },
    timestampValueExpression: "ts",
  },
};
const request = (extra: Partial<RequestInput> = {}, item: object = {}): RequestInput => ({
  startTime: t0,
  endTime: t0 + 7_200_000 - 1,
  granularity: "1h",
  ...extra,
  series: [
    { sourceId: "many", aggFn: "count", groupBy: ["id", "name"], ...item },
    { sourceId: "many", aggFn: "sum", field: "id", where: "id:>100", groupBy: ["id", "name"] },
  ],
});
/** Streams of rows; the engine host has queries of its own. */
const running = async () => {
  const streams = "query LIKE '%JSONCompactEachRow%' AND query NOT LIKE '%system.processes%'";
  return Number(await engine.client.text(`SELECT count() FROM system.processes WHERE ${streams}`));
};

test.each([{}, { seriesReturnType: "ratio" as const }, { formula: "series_0 + series_1" }])(
  "lines and CSV that are sent as they come hold the rows of the JSON answer: %j",
  async (extra) => {
    const room = chartRoom(engine.client, sources);
    const { data } = await room.guardQuery(request(extra));
    expect(data.length).toBeGreaterThan(groups);
    const lines = await room.outcome(request(extra), { format: "ndjson" });
    expect(lines.body).toBeInstanceOf(Readable);
    const rows = lines.text.split("\n");
    expect(rows.pop()).toBe("");
    expect(rows).toHaveLength(data.length);
    expect(rows.findIndex((row, i) => row !== JSON.stringify(data[i]))).toBe(-1);
    const csv = await room.outcome(request(extra), { format: "csv" });
    expect(csv.body).toBeInstanceOf(Readable);
    expect(csv.text.split("\r\n").filter((line) => line.startsWith("ts_bucket,id,name,"))).toHaveLength(1);
    expect(csv.text.split("\r\n")).toHaveLength(data.length + 2);
  },
);

test("a caller that goes away ends the query and gives its place back", async () => {
  const room = chartRoom(engine.client, sources, { runningPerToken: 1, waitingPerToken: 0 });
  const { signal } = new AbortController();
  const caller = { organizationId: "o", credentialId: "t", signal, format: "ndjson" as const, known: [] };
  const ask = () => room.charts.query(seriesRequest.parse(request()), caller);
  for (const readSome of [false, true]) {
    const { body } = await ask();
    await expect(ask()).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS" });
    const stream = body as Readable;
    if (readSome) for await (const _ of stream) break;
    stream.destroy();
    await expect.poll(running).toBe(0);
    const again = await ask();
    (again.body as Readable).destroy();
    await expect.poll(running).toBe(0);
  }
});

test("what fails before the first row is told by its status", async () => {
  const room = chartRoom(engine.client, sources, { timeMs: 20_000 });
  const outcome = (item: object) => room.outcome(request({}, item), { format: "csv" });
  await expect(outcome({ where: "nope:1" })).rejects.toMatchObject({ code: "UNKNOWN_COLUMN" });
  await expect(outcome({ aggFn: "max", field: "length(id)" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
});
