/** Nothing that is kept is stale: not its rows, not its columns, and not its tag. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, type ChartRoom, chartRoom, startEngine } from "../../harness/engine/chart-engine.ts";

const t0 = Date.UTC(2024, 2, 11);
let engine: ChartEngine;
let room: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE c");
  const source = (databaseName: string, tableName: string) => {
    const from = { databaseName, tableName };
    return { name: tableName, kind: "table" as const, from, timestampValueExpression: "ts" };
  };
  room = chartRoom(engine.client, {
    ...Object.fromEntries(["made", "tagged", "aged", "altered"].map((name) => [name, source("c", name)])),
    default: source("default", "made"),
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

const body = (sourceId: string, field = "n") => ({
  ...{ startTime: t0, endTime: t0 + 3_600_000, granularity: "1h" as const },
  series: [{ sourceId, aggFn: "sum" as const, field }],
});

test.each([
  ["c", "made"],
  ["default", "default"],
])("a table that is dropped and made again within a second has its own rows: in %s", async (database, source) => {
  const answers: { text: string; etag: string | undefined }[] = [];
  for (let n = 1; n <= 4; n += 1) {
    await engine.client.command(`CREATE TABLE ${database}.made (ts DateTime, n UInt8) ENGINE = MergeTree ORDER BY ts`);
    await engine.client.command(`INSERT INTO ${database}.made VALUES (${t0 / 1000}, ${n})`);
    const known = answers.flatMap(({ etag }) => (etag === undefined ? [] : [etag]));
    const { text, etag, body: there } = await room.outcome(body(source), { known });
    expect(there).toBeDefined();
    expect(JSON.parse(text).data[0]["series_0.data"]).toBe(n);
    answers.push({ text, etag });
    await engine.client.command(`DROP TABLE ${database}.made SYNC`);
  }
  expect(answers.some(({ etag }) => etag !== undefined)).toBe(true);
});

test("the first tag after a change is the new version's: it is answered with 304", async () => {
  await engine.client.command("CREATE TABLE c.tagged (ts DateTime, n UInt8) ENGINE = MergeTree ORDER BY ts");
  const insert = () => engine.client.command(`INSERT INTO c.tagged VALUES (${t0 / 1000}, 1)`);
  await insert();
  const request = body("tagged");
  let tags = 0;
  for (let i = 0; i < 6; i += 1) {
    // Asked in another way each time, so that nothing is kept and nothing known.
    const asked = { ...request, endTime: request.endTime + Math.floor(i / 2) };
    const { etag } = await room.outcome(asked);
    if (etag !== undefined) {
      tags += 1;
      expect((await room.outcome(asked, { known: [etag] })).body, `round ${i}`).toBeUndefined();
    }
    if (i % 2 === 1) await insert();
  }
  expect(tags).toBeGreaterThanOrEqual(4);
});

test("columns made of now() are not kept, neither directly nor by way of another", async () => {
  await engine.client.command(`CREATE TABLE c.aged (ts DateTime, n UInt8, age UInt32 ALIAS dateDiff('second', ts, now()),
    older UInt32 ALIAS age + 1, double UInt32 ALIAS n * 2) ENGINE = MergeTree ORDER BY ts`);
  await engine.client.command(`INSERT INTO c.aged VALUES (${t0 / 1000}, 1)`);
  for (const [field, kept] of [
    ["age", false],
    ["older", false],
    ["double", true],
  ] as const) {
    expect((await room.outcome(body("aged", field))).etag !== undefined, field).toBe(kept);
  }
});

test("a change of a column's definition alone is a change of the answer", async () => {
  await engine.client.command(
    "CREATE TABLE c.altered (ts DateTime, n UInt8, twice UInt32 ALIAS n * 2) ENGINE = MergeTree ORDER BY ts",
  );
  await engine.client.command(`INSERT INTO c.altered VALUES (${t0 / 1000}, 1)`);
  const first = await room.outcome(body("altered", "twice"));
  await engine.client.command("ALTER TABLE c.altered MODIFY COLUMN twice UInt32 ALIAS n * 3");
  const second = await room.outcome(body("altered", "twice"), { known: [first.etag as string] });
  expect(JSON.parse(second.text || "{}").data?.[0]["series_0.data"]).toBe(3);
});
