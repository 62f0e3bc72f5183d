/** Sampled rows on a real engine: what a row stands for is what it counts, and nothing else changes. */
import { expect, test } from "vitest";
import { chartRoom, startEngine } from "../../harness/engine/chart-engine.ts";

const t0 = Date.UTC(2024, 4, 1);
const rates = ["10", "1", "0", "", "x", "-3", "2.5", "100"];
const weights = [10, 1, 1, 1, 1, 1, 1, 100];
const rows = Array.from({ length: 800 }, (_, i) => ({
  ts: t0 / 1000 + i,
  service: ["api", "web"][i % 2] as string,
  d: i % 7 === 0 ? null : (i * 37) % 1000,
  attrs: rates[i % 8] === "" ? {} : { rate: rates[i % 8] },
  keep: weights[i % 8] as number,
}));

test("counts, sums, averages and quantiles go by weight; extremes and distinct values do not", async () => {
  await using engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(`CREATE TABLE c.spans (ts DateTime, service String, d Nullable(UInt64), keep Nullable(UInt16),
    attrs Map(LowCardinality(String), String)) ENGINE = MergeTree ORDER BY ts`);
  const body = Buffer.from(rows.map((row) => JSON.stringify(row)).join("\n"));
  await client.command("INSERT INTO c.spans FORMAT JSONEachRow", { body });
  const source = (sampleRateExpression: string) => ({
    name: "spans",
    kind: "trace" as const,
    from: { databaseName: "c", tableName: "spans" },
    timestampValueExpression: "ts",
    sampleRateExpression,
  });
  const room = chartRoom(client, { text: source("attrs['rate']"), number: source("keep"), wrong: source("no_column") });
  const request = { startTime: t0, endTime: t0 + 3_600_000 - 1, granularity: "1h" as const };
  const total = (of: typeof rows) => of.reduce((sum, { keep }) => sum + keep, 0);
  const values = (answer: { data: Record<string, number>[] }, n: number) =>
    answer.data.map((row) => Array.from({ length: n }, (_, i) => row[`series_${i}.data`]));

  for (const sourceId of ["text", "number"]) {
    const of = (item: object) => ({ sourceId, aggFn: "count" as const, ...item });
    const web = rows.filter(({ service }) => service === "web");
    const counts = await room.guardQuery({ ...request, series: [of({}), of({ where: 'service:"web"' })] });
    expect(values(counts, 2)).toEqual([[total(rows), total(web)]]);
    const grouped = await room.guardQuery({ ...request, series: [of({ groupBy: ["service"] })] });
    expect(values(grouped, 1)).toEqual([[total(rows) - total(web)], [total(web)]]);

    const valued = web.filter(({ d }) => d !== null).map(({ d, keep }) => ({ d: d as number, keep }));
    const sum = valued.reduce((all, { d, keep }) => all + d * keep, 0);
    const all = valued.reduce((weight, { keep }) => weight + keep, 0);
    const extremes = valued.map(({ d }) => d);
    const field = "d";
    const filtered = (["sum", "avg", "min", "max", "count_distinct"] as const).map((aggFn, i) =>
      of({ aggFn, field, where: i === 4 ? "" : 'service:"web"' }),
    );
    const [five] = values(await room.guardQuery({ ...request, series: filtered }), 5);
    expect(five?.slice(0, 4)).toEqual([sum, sum / all, Math.min(...extremes), Math.max(...extremes)]);
    expect(five?.[4]).toBe(new Set(rows.map(({ d }) => d).filter((d) => d !== null)).size);

    const each = valued.flatMap(({ d, keep }) => Array.from({ length: keep }, () => d)).sort((a, b) => a - b);
    const median = each[Math.floor(each.length / 2)] as number;
    const quantile = of({ aggFn: "quantile", level: 0.5, field, where: 'service:"web"' });
    const [[got]] = values(await room.guardQuery({ ...request, series: [quantile] }), 1) as [[number]];
    expect(Math.abs(got - median)).toBeLessThan(20);

    const none = ["sum", "avg", "quantile"].map((aggFn) => of({ aggFn, field, where: 'service:"none"' }));
    const empty = await room.guardQuery({ ...request, series: [of({}), ...none] });
    expect(values(empty, 4)).toEqual([[total(rows), 0, null, null]]);
  }
  const wrong = room.guardQuery({ ...request, series: [{ sourceId: "wrong", aggFn: "count" }] });
  await expect(wrong).rejects.toMatchObject({ code: "UNKNOWN_COLUMN" });
});
