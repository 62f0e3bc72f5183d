/** What a real engine does with the settings: which charts fill its cache of decompressed blocks. */
import { expect, test } from "vitest";
import { chartRoom, type RequestInput, startEngine } from "../../../harness/engine/chart-engine.ts";

const t0 = Date.UTC(2024, 2, 30);

test("charts of narrow columns keep their blocks in the engine, the answer stays the same; others keep nothing", async () => {
  // The cache is a tenth of the memory, and a chart fills at most half of it.
  await using engine = await startEngine({ maxMemoryBytes: 2 ** 30 });
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command("CREATE TABLE c.t (ts DateTime, n UInt64, s String) ENGINE = MergeTree ORDER BY ts");
  const rows = 1_000_000;
  await client.command(
    `INSERT INTO c.t SELECT ${t0 / 1000} + intDiv(number, 20), number % 1000, toString(number % 3) FROM numbers(${rows})`,
  );
  const kept = async () =>
    Number(await client.text("SELECT value FROM system.metrics WHERE metric = 'UncompressedCacheBytes' FORMAT TSV"));
  const room = chartRoom(client, {
    t: {
      name: "t",
      kind: "table",
      from: { databaseName: "c", tableName: "t" },
      timestampValueExpression: "ts",
    },
  });
  const ask = async (where: string, endMs: number) => {
    const series: RequestInput["series"] = [
      { sourceId: "t", aggFn: "count", where, groupBy: [] },
      { sourceId: "t", aggFn: "sum", field: "n", where, groupBy: [] },
    ];
    const { data } = await room.guardQuery({ startTime: t0, endTime: endMs, granularity: "1h", series });
    return data;
  };
  expect(await ask("s:1", t0 + 86_400_000)).toHaveLength(14);
  expect(await kept()).toBe(0);
  const first = await ask("n:>=500", t0 + 86_400_000);
  const bytes = await kept();
  expect(bytes).toBeGreaterThan(rows * 4);
  expect(bytes).toBeLessThan(2 ** 30 * 0.1);
  expect(await ask("n:>=500", t0 + 86_400_001)).toEqual(first);
  expect(await kept()).toBe(bytes);
  // Rows that come later are counted.
  await client.command(`INSERT INTO c.t VALUES (${t0 / 1000}, 999, 'x')`);
  const [changed] = await ask("n:>=500", t0 + 86_400_002);
  expect(changed?.["series_0.data"]).toBe(first[0]?.["series_0.data"] + 1);
  // A table that does not fit is read as it is.
  await client.command("TRUNCATE TABLE c.t");
  await client.command(`INSERT INTO c.t SELECT ${t0 / 1000} + intDiv(number, 200), number, '' FROM numbers(6000000)`);
  const before = await kept();
  expect(await ask("n:>=500", t0 + 86_400_003)).toHaveLength(9);
  expect(await kept()).toBeLessThanOrEqual(before);
});
