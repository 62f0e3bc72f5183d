/** The bounds of a query, on a real engine. */
import { expect, test } from "vitest";
import { chartRoom, type RequestInput, startEngine } from "../../test/support/chart-engine.ts";
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
      .ask(heavy)
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
  await expect.poll(running, { timeout: 5000 }).toBe(1);
  abort.abort();
  await expect(asked).rejects.toThrow("the caller went away");
  await expect.poll(running, { timeout: 5000 }).toBe(0);
});
