/** The bounds of a query, on a real engine. */
import { expect, test } from "vitest";
import { chartRoom, type RequestInput, startEngine } from "../../harness/engine/chart-engine.ts";
import type { AppError } from "../lib/errors.ts";

const t0 = Date.UTC(2024, 2, 30, 20, 0, 0);

test("limits of time, memory and rows; a caller that goes away ends its query", async () => {
  await using engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command("CREATE TABLE c.big (ts DateTime, s String) ENGINE = MergeTree ORDER BY ts");
  await client.command(
    `INSERT INTO c.big SELECT toDateTime(${t0 / 1000}) + number % 86400, toString(cityHash64(number)) FROM numbers(3000000)`,
  );
  const big = {
    name: "big",
    kind: "table" as const,
    from: { databaseName: "c", tableName: "big" },
    timestampValueExpression: "ts",
  };
  const heavy: RequestInput = {
    startTime: t0,
    endTime: t0 + 86_400_000,
    granularity: "6h",
    series: [{ sourceId: "big", aggFn: "count_distinct", field: "SHA512(SHA512(s))", groupBy: ["MD5(s)"] }],
  };
  const code = (limits: object) =>
    chartRoom(client, { big }, limits)
      .guardQuery(heavy)
      .then(
        () => "answered",
        (error: AppError) => error.code,
      );
  expect(await code({ timeMs: 100 })).toBe("TIMEOUT");
  expect(await code({ memoryBytes: 20_000_000 })).toBe("QUERY_FAILED");
  expect(await code({ rowsToRead: 1000 })).toBe("QUERY_FAILED");
  const running = async () =>
    Number(
      await client.text(
        "SELECT count() FROM system.processes WHERE query LIKE '%SHA512(SHA512%' AND query NOT LIKE '%system.processes%'",
      ),
    );
  const abort = new AbortController();
  const asked = chartRoom(client, { big }).outcome(heavy, { signal: abort.signal });
  asked.catch(() => {});
  await expect.poll(running).toBe(1);
  abort.abort();
  await expect(asked).rejects.toThrow("the caller went away");
  await expect.poll(running).toBe(0);
});

test("the deepest and largest expressions that are written are ones that the engine reads", async () => {
  await using engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command("CREATE TABLE c.n (ts DateTime, n UInt64, d Date) ENGINE = MergeTree ORDER BY ts");
  await client.command(
    `INSERT INTO c.n SELECT toDateTime(${t0 / 1000}), number, toDate('2024-01-01') FROM numbers(10)`,
  );
  const from = { databaseName: "c", tableName: "n" };
  const room = chartRoom(client, { n: { name: "n", kind: "table", from, timestampValueExpression: "ts" } });
  const count = async (where: string) => {
    const series = [{ sourceId: "n", aggFn: "count" as const, where, whereLanguage: "sql" as const }];
    const answer = await room.guardQuery({ startTime: t0, endTime: t0 + 60_000, granularity: "1h", series });
    return answer.data[0]?.["series_0.data"] ?? 0;
  };
  expect(await count(`n${" + 1".repeat(145)} > 150`)).toBe(4);
  expect(await count(`${"-(".repeat(90)}n${")".repeat(90)} = 5`)).toBe(1);
  expect(await count(Array.from({ length: 1200 }, (_, i) => `n = ${i}`).join(" OR "))).toBe(10);
  expect(await count(`n IN (${Array.from({ length: 4900 }, (_, i) => i + 5).join(", ")})`)).toBe(5);
  expect(await count(`${"(".repeat(8)}n${" BETWEEN 1 AND 2)".repeat(8)}`)).toBe(2);
  expect(await count("n NOT BETWEEN 2 AND 8")).toBe(3);
  expect(await count("CASE n WHEN 1 THEN 1 WHEN n - 0 THEN n > 7 ELSE 0 END")).toBe(3);
  expect(await count("CASE CASE n WHEN 1 THEN 'x' ELSE 'y' END WHEN 'x' THEN 1 ELSE 0 END")).toBe(1);
});
