/** Fields of a source and their values, and sources that are suggested for tables, on a real engine. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, type ChartRoom, chartRoom, startEngine } from "../../../harness/engine/chart-engine.ts";
import type { FieldsQuery, FieldValuesQuery } from "../../api/explore.ts";

const t0 = Date.UTC(2024, 4, 1, 10);
let engine: ChartEngine;
let room: ChartRoom;

const caller = { organizationId: "o", credentialId: "t", signal: new AbortController().signal };

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(`CREATE TABLE c.logs (ts DateTime64(3, 'UTC'), Service LowCardinality(String), code UInt16,
    tags Array(String), m Map(LowCardinality(String), String), j JSON) ENGINE = MergeTree ORDER BY ts`);
  await client.command(`INSERT INTO c.logs SELECT fromUnixTimestamp64Milli(${t0} + number * 1000),
    ['web', 'api', 'Web-2', ''][number % 4 + 1], 200 + number % 3, ['a', if(number % 2 = 0, 'b', 'c')],
    map('k8s.pod', concat('p', toString(number % 2)), 'odd key''s', 'x'),
    '{"user": {"id": 5}, "kind": "x"}' FROM numbers(400)`);
  const from = { databaseName: "c", tableName: "logs" };
  room = chartRoom(client, { logs: { name: "logs", kind: "log", from, timestampValueExpression: "ts" } });
});
afterAll(() => engine[Symbol.asyncDispose]());

const range = { startTime: t0, endTime: t0 + 3_600_000 };
const fields = (query: Partial<FieldsQuery> = {}) => room.room.fields.list("logs", { wake: "auto", ...query }, caller);
const asked = { wake: "auto", prefix: "", where: "", whereLanguage: "lucene", timezone: "UTC", limit: 20 } as const;
const values = (field: string, query: Partial<FieldValuesQuery> = {}) =>
  room.room.fields.values("logs", { ...asked, ...range, field, ...query }, caller);
const pairs = async (...ask: Parameters<typeof values>) =>
  (await values(...ask)).data.map(({ value, count }) => [value, count]);

test("columns, and the keys and paths that rows have, by names that filters take", async () => {
  const { data, meta } = await fields(range);
  expect(data.map(({ name, type, kind }) => [name, type, kind])).toEqual([
    ["ts", "DateTime64(3, 'UTC')", "column"],
    ["Service", "LowCardinality(String)", "column"],
    ["code", "UInt16", "column"],
    ["tags", "Array(String)", "column"],
    ["m", "Map(LowCardinality(String), String)", "column"],
    ["m.k8s.pod", "String", "mapKey"],
    ["m['odd key\\'s']", "String", "mapKey"],
    ["j", "JSON", "column"],
    ["j.kind", "String", "jsonPath"],
    ["j.user.id", "Int64", "jsonPath"],
  ]);
  expect(meta).toMatchObject({ complete: true, cache: "miss" });
  for (const { name, kind } of data) {
    if (kind === "column") continue;
    const count = async (where: string, whereLanguage: "lucene" | "sql") =>
      (await values("tags", { where, whereLanguage })).data[0];
    expect(await count(`${name}:*`, "lucene"), name).toEqual({ value: "a", count: 400 });
    expect(await count(`notEmpty(toString(${name}))`, "sql"), name).toEqual({ value: "a", count: 400 });
  }
});

test("without rows in the range there are columns alone", async () => {
  const { data } = await fields({ startTime: t0 - 7_200_000, endTime: t0 - 3_600_000 });
  expect(data.map(({ name }) => name)).toEqual(["ts", "Service", "code", "tags", "m", "j"]);
});

test("values with their counts, the most frequent first, of columns, keys, paths, elements and expressions", async () => {
  expect(await pairs("Service")).toEqual([
    ["Web-2", 100],
    ["api", 100],
    ["web", 100],
  ]);
  expect(await pairs("code")).toEqual([
    ["200", 134],
    ["201", 133],
    ["202", 133],
  ]);
  expect(await pairs("tags", { limit: 2 })).toEqual([
    ["a", 400],
    ["b", 200],
  ]);
  expect(await pairs("m.k8s.pod")).toEqual([
    ["p0", 200],
    ["p1", 200],
  ]);
  expect(await pairs("j.user.id")).toEqual([["5", 400]]);
  expect(await pairs("upper(Service)", { where: "code:200", limit: 1 })).toEqual([["WEB", 34]]);
});

test("a prefix, a filter and a range choose", async () => {
  expect(await pairs("Service", { prefix: "WE" })).toEqual([
    ["Web-2", 100],
    ["web", 100],
  ]);
  expect(await pairs("Service", { where: "code:201 AND Service:api" })).toEqual([["api", 34]]);
  expect(await pairs("Service", { endTime: t0 + 1999 })).toEqual([
    ["api", 1],
    ["web", 1],
  ]);
  const none = await values("Service", { prefix: "x" });
  expect([none.data, none.meta.complete]).toEqual([[], true]);
});

test("more rows than are counted: a sample, which says so, whatever the prefix", async () => {
  await engine.client.command("CREATE TABLE c.big (ts DateTime, s String) ENGINE = MergeTree ORDER BY ts");
  await engine.client.command(`INSERT INTO c.big SELECT ${t0 / 1000}, 'x' FROM numbers(1200000)`);
  const from = { databaseName: "c", tableName: "big" };
  const { fields: of } = chartRoom(engine.client, {
    big: { name: "big", kind: "table", from, timestampValueExpression: "ts" },
  }).room;
  for (const prefix of ["", "y"]) {
    const { data, meta } = await of.values("big", { ...asked, ...range, field: "s", prefix }, caller);
    expect(data).toEqual(prefix === "" ? [{ value: "x", count: 1_000_000 }] : []);
    expect(meta.complete).toBe(false);
  }
});

test.each([
  ["m", "field"],
  ["nope", "field"],
])("%s is not a field whose values can be listed", async (field, path) => {
  const error = await values(field).catch((caught) => caught);
  expect([error.status, error.issues?.[0].path]).toEqual([400, path]);
});
