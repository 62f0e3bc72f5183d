/** What the engine refuses is told with its place, on a real engine. */
import { expect, test } from "vitest";
import { chartRoom, type RequestInput, startEngine } from "../../harness/engine/chart-engine.ts";
import type { AppError } from "../lib/errors.ts";

type Item = Partial<RequestInput["series"][number]>;
const t0 = Date.UTC(2024, 4, 1);

test("a clash of types names the innermost part at fault and its position", async () => {
  await using engine = await startEngine();
  await engine.client.command("CREATE DATABASE c");
  await engine.client.command(`CREATE TABLE c.logs (ts DateTime, level String, n Nullable(Int64),
    attrs Map(String, String)) ENGINE = MergeTree ORDER BY ts`);
  const from = { databaseName: "c", tableName: "logs" };
  const logs = { name: "logs", kind: "log" as const, from, timestampValueExpression: "ts" };
  const room = chartRoom(engine.client, { logs });
  const failure = async (items: Item[]): Promise<AppError> => {
    const series = items.map((item) => ({ sourceId: "logs", aggFn: "count" as const, ...item }));
    return room.guardQuery({ startTime: t0, endTime: t0 + 3_600_000, series }).then(
      () => expect.fail("should be refused"),
      (error) => error as AppError,
    );
  };
  const sql = (where: string) => ({ where, whereLanguage: "sql" as const });
  const clashes: [Item, string, number][] = [
    [sql("level = 'x' AND n > 1 AND toDate(attrs) = today()"), "series.0.where", 26],
    [sql("1 + length(n)"), "series.0.where", 4],
    [sql("multiply(2, concat('a', level) + n) > 1"), "series.0.where", 12],
    [sql("arrayExists(x -> x + 'a' = 1, [1])"), "series.0.where", 0],
    [sql("NOT startsWith(n, 'x')"), "series.0.where", 4],
    [{ aggFn: "sum", field: "n + length(n)" }, "series.0.field", 4],
    [{ groupBy: ["lower(n)"] }, "series.0.groupBy.0", 0],
  ];
  for (const [item, path, position] of clashes) {
    const { code, message, issues } = await failure([item]);
    expect([code, issues?.[0]?.path, issues?.[0]?.position], message).toEqual(["BAD_REQUEST", path, position]);
    expect(message).toContain(`${path}: `);
  }
  await engine.client.command(`INSERT INTO c.logs (ts, level) VALUES (${t0 / 1000}, 'x')`);
  const value = await failure([sql("toInt64(level) > 2")]);
  expect([value.issues?.[0]?.path, value.issues?.[0]?.position], value.message).toEqual(["series.0.where", undefined]);
  const second = await failure([{}, sql("level")]);
  expect([second.code, second.message]).toEqual([
    "BAD_REQUEST",
    expect.stringMatching(/^series\.1\.where: .*condition/),
  ]);
});
