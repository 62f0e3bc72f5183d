/** Rows of a source against plain computation: over all pages, every row once, in order, with its own digits. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChartEngine, type ChartRoom, chartRoom, startEngine } from "../../../harness/engine/chart-engine.ts";
import { Dice } from "../../../harness/random.ts";
import { type SearchRequest, searchRequest } from "../../api/explore.ts";

const t0 = Date.UTC(2024, 4, 1, 10);
let engine: ChartEngine;
let room: ChartRoom;

const caller = { organizationId: "o", credentialId: "t", signal: new AbortController().signal };
const columns = `ts DateTime64(9, 'UTC'), s String, n Nullable(Int32), f Float64, u UInt64, d Decimal(38, 2),
  m Map(String, String), j JSON, e Enum8('z' = 1, 'a' = 2), day Date DEFAULT toDate(ts)`;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE c");
  await engine.client.command(`CREATE TABLE c.t (${columns}) ENGINE = MergeTree ORDER BY s`);
  await engine.client.command(`CREATE TABLE c.sorted (${columns}) ENGINE = MergeTree ORDER BY ts`);
  const source = (tableName: string, extra: object = {}) => ({
    ...{ name: tableName, kind: "table" as const, from: { databaseName: "c", tableName } },
    ...{ timestampValueExpression: "ts", implicitColumnExpression: "s", ...extra },
  });
  room = chartRoom(engine.client, {
    t: source("t"),
    sorted: source("sorted"),
    chosen: source("t", { defaultTableSelectExpression: "ts, upper(s) AS loud, m['k']" }),
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

const search = (extra: Partial<SearchRequest>) =>
  room.room.search.rows(
    searchRequest.parse({ sourceId: "t", startTime: t0, endTime: t0 + 3_600_000, ...extra }),
    caller,
  );

test("an offset and a number of rows give the same rows as pages", async () => {
  await engine.client.command(
    `INSERT INTO c.sorted (ts, s, n, f) SELECT toDateTime('2024-05-01 10:00:00') + number, toString(number), number % 3, 1
     FROM numbers(40)`,
  );
  const all = (await search({ sourceId: "sorted", limit: 1000 })).data;
  const part = await search({ sourceId: "sorted", maxResults: 15, offset: 10 });
  expect(part.data).toEqual(all.slice(10, 25));
  expect(part).toMatchObject({ rows: 15 });
  expect(part.nextCursor).toBeUndefined();
  const upwards = await search({ sourceId: "sorted", orderBy: "ts ASC", maxResults: 40 });
  expect(upwards.data.map(({ ts }) => ts)).toEqual(all.map(({ ts }) => ts).reverse());
  await engine.client.command("TRUNCATE TABLE c.sorted");
});

/** All pages; `between` runs after each. */
async function pages(extra: Partial<SearchRequest>, between: (page: number) => Promise<void> = async () => {}) {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 500; page += 1) {
    const answer = await search({ ...extra, ...(cursor !== undefined && { cursor }) });
    rows.push(...answer.data);
    cursor = answer.nextCursor;
    if (cursor === undefined) return rows;
    await between(page);
  }
  throw new Error("the pages do not end");
}

type Row = { ts: number; s: string; n: number | null; f: number | null };

/** Few times and few values, so that many rows share a time and many are equal. */
function randomRows(dice: Dice, count: number): Row[] {
  return Array.from({ length: count }, () => ({
    ts: t0 + 1000 * dice.below(4),
    s: "abc"[dice.below(3)] as string,
    n: dice.below(4) === 0 ? null : dice.below(3) - 1,
    f: dice.below(4) === 0 ? null : dice.below(3) / 2,
  }));
}

async function insert(table: string, rows: readonly Row[]): Promise<void> {
  const time = (ms: number) => new Date(ms).toISOString().slice(0, 19);
  const values = rows.map(({ ts, s, n, f }) => `('${time(ts)}', '${s}', ${n}, ${f ?? "nan"})`);
  await engine.client.command(`INSERT INTO c.${table} (ts, s, n, f) VALUES ${values.join(",")}`);
}

const shown = ({ ts, s, n, f }: Row) => [new Date(ts).toISOString().replace("Z", "000000Z"), s, n, f ?? "nan"].join();
const answered = (row: Record<string, unknown>) => [row.ts, row.s, row.n, row.f].join();

/** The order of the request, without that of rows that are equal in it. */
function sortOf(orderBy: string | undefined, order: "asc" | "desc") {
  const sign = order === "asc" ? 1 : -1;
  const of = (row: Record<string, unknown>) => (orderBy === undefined ? row.ts : row[orderBy]);
  return (a: Record<string, unknown>, b: Record<string, unknown>) => {
    const [x, y] = [of(a), of(b)].map((value) => (value === "nan" ? null : value)) as (string | number | null)[];
    if (x === y) return orderBy === undefined ? 0 : String(b.ts).localeCompare(String(a.ts));
    if (x === null || y === null) return x === null ? 1 : -1;
    return ((x as number) < (y as number) ? -1 : 1) * sign;
  };
}

describe.each(["t", "sorted"])("pages of %s", (table) => {
  test("have every row once and in order, however many share a time or are equal", async () => {
    const dice = new Dice(table.length);
    const rows = randomRows(dice, 150);
    await insert(table, rows);
    for (let round = 0; round < 24; round += 1) {
      const orderBy = [undefined, "s", "n", "f", "ts"][dice.below(5)];
      const order = dice.below(2) === 0 ? ("asc" as const) : ("desc" as const);
      const filter = dice.below(2) === 0 ? {} : { where: "s:a OR n:1" };
      const limit = 1 + dice.below(40);
      const got = await pages({
        sourceId: table,
        select: "ts, s, n, f",
        ...(orderBy && { orderBy }),
        order,
        limit,
        ...filter,
      });
      const wanted = rows.filter(({ s, n }) => filter.where === undefined || s === "a" || n === 1);
      const name = JSON.stringify({ orderBy, order, limit, filter });
      expect(got.map(answered).sort(), name).toEqual(wanted.map(shown).sort());
      const compare = sortOf(orderBy, order);
      for (const [i, row] of got.entries()) {
        if (i > 0) expect(compare(got[i - 1] as typeof row, row), `${name} ${i}`).toBeLessThanOrEqual(0);
      }
    }
  });

  test("rows that come and parts that merge meanwhile lose none of those that were there", async () => {
    const dice = new Dice(7 + table.length);
    await engine.client.command(`TRUNCATE TABLE c.${table}`);
    const before = randomRows(dice, 60);
    await insert(table, before);
    const added: Row[] = [];
    const got = await pages({ sourceId: table, select: "ts, s, n, f", limit: 7 }, async (page) => {
      if (page > 5) return;
      const more = randomRows(dice, 3);
      added.push(...more);
      await insert(table, more);
      await engine.client.command(`OPTIMIZE TABLE c.${table} FINAL`);
    });
    const left = new Map<string, number>();
    for (const row of got.map(answered)) left.set(row, (left.get(row) ?? 0) + 1);
    for (const row of before.map(shown)) left.set(row, (left.get(row) ?? 0) - 1);
    expect([...left.values()].every((count) => count >= 0)).toBe(true);
    for (const row of added.map(shown)) left.set(row, (left.get(row) ?? 0) - 1);
    expect([...left.values()].every((count) => count <= 0)).toBe(true);
  });
});

describe("what rows show", () => {
  beforeAll(async () => {
    await engine.client.command("TRUNCATE TABLE c.t");
    await engine.client.command(`INSERT INTO c.t (ts, s, n, f, u, d, m, j) VALUES
      ('2024-05-01 10:00:00.123456789', 'x "9007199254740993" y', 1, inf, 18446744073709551615, 12345678901234567890.12,
       {'k': 'v'}, '{"a": {"big": 9007199254740993, "small": 42}}')`);
  });

  test("all columns, with every digit and in their types", async () => {
    const { data, meta } = await search({});
    expect(data).toEqual([
      {
        ...{ ts: "2024-05-01T10:00:00.123456789Z", s: 'x "9007199254740993" y', n: 1, f: "inf" },
        ...{ u: "18446744073709551615", d: "12345678901234567890.12", m: { k: "v" } },
        ...{ j: { a: { big: "9007199254740993", small: 42 } }, e: "z", day: "2024-05-01" },
      },
    ]);
    expect(meta.columns.slice(0, 3)).toEqual([
      { name: "ts", type: "DateTime64(9, 'UTC')" },
      { name: "s", type: "String" },
      { name: "n", type: "Nullable(Int32)" },
    ]);
    expect(meta).toMatchObject({ cache: "miss", asOf: expect.any(String), rowsRead: expect.any(Number) });
  });

  test("the source's list, the request's list, names and paths", async () => {
    const chosen = await search({ sourceId: "chosen" });
    expect(chosen.data).toEqual([
      { ts: "2024-05-01T10:00:00.123456789Z", loud: 'X "9007199254740993" Y', "m['k']": "v" },
    ]);
    const { data } = await search({ select: "m.k, j.a.small AS `a b`, concat(s, ',', 'z') AS c" });
    expect(data).toEqual([{ "m.k": "v", "a b": 42, c: 'x "9007199254740993" y,z' }]);
  });

  test.each([
    [{ select: "ts, nope" }, "select", 4],
    [{ select: "ts, ts" }, "select", undefined],
    [{ orderBy: "m" }, "orderBy", undefined],
    [{ where: "(s:x" }, "where", 0],
    [{ where: "n + 'x'", whereLanguage: "sql" as const }, "where", 0],
    [{ cursor: "abc" }, "cursor", undefined],
  ])("%j is refused with its path", async (extra, path, position) => {
    const error = await search(extra).catch((caught) => caught);
    expect(error.status, error.message).toBe(400);
    expect(error.issues?.[0]).toMatchObject({ path, ...(position !== undefined && { position }) });
  });

  test("a cursor of another request is refused", async () => {
    await engine.client.command(`INSERT INTO c.t (ts, s) SELECT fromUnixTimestamp64Milli(${t0}), 'r' FROM numbers(3)`);
    const { nextCursor } = await search({ limit: 1 });
    expect((await search({ limit: 2, cursor: nextCursor })).data).toHaveLength(2);
    await expect(search({ limit: 1, cursor: nextCursor, where: "s:r" })).rejects.toThrow(
      "not a cursor of this request",
    );
  });
});

test("what a search repeats is counted", async () => {
  const long = (parts: number) => `length([${Array.from({ length: parts }, () => "n").join(", ")}])`;
  expect((await search({ select: `${long(400)} AS a`, orderBy: long(100) })).data).toBeDefined();
  for (const extra of [{ select: `${long(1100)} AS a` }, { orderBy: long(500) }]) {
    await expect(search(extra)).rejects.toThrow("parts; ask for less at once");
  }
});

test("a page that is too large is refused, and fits with fewer rows", async () => {
  await engine.client.command("TRUNCATE TABLE c.t");
  await engine.client.command(
    `INSERT INTO c.t (ts, s) SELECT fromUnixTimestamp64Milli(${t0} + number), repeat('x', 1000000) FROM numbers(40)`,
  );
  const error = await search({}).catch((caught) => caught);
  expect([error.status, error.message]).toEqual([422, expect.stringContaining("fewer rows or columns")]);
  expect((await search({ limit: 3 })).data).toHaveLength(3);
});

test("a page goes on where the one before ends, whatever rows are sorted by", async () => {
  await engine.client.command(`CREATE TABLE c.kinds (ts DateTime('Europe/Berlin'), id UUID, ip IPv6, v4 IPv4, b Bool,
    lc LowCardinality(Nullable(String)), e Nullable(Enum8('z' = 1, 'a' = 2)), f32 Float32, dec Nullable(Decimal(20, 3)),
    big Int256, day Date32, at Nullable(DateTime64(6)), text String) ENGINE = MergeTree ORDER BY id`);
  // Local times of the hour that clocks repeat.
  await engine.client.command(`INSERT INTO c.kinds SELECT ${Date.UTC(2024, 9, 27) / 1000} + (number * 613) % 7200,
    generateUUIDv4(), toIPv6(concat('::', toString(number % 7))), toIPv4(number % 6), number % 2,
    if(number % 3 = 0, NULL, concat('l', toString(number % 4))), if(number % 4 = 0, NULL, number % 2 + 1), 1 / (number % 5),
    if(number % 5 = 0, NULL, number / 8), -number * pow(2, 70), 19000 + number % 6,
    if(number % 6 = 0, NULL, fromUnixTimestamp64Micro(toInt64(number % 9))),
    concat('\\t\\n\\\\\\'', char(number % 8)) FROM numbers(40)`);
  const from = { databaseName: "c", tableName: "kinds" };
  const { search: of } = chartRoom(engine.client, {
    kinds: { name: "kinds", kind: "table", from, timestampValueExpression: "ts" },
  }).room;
  const [startTime, endTime] = [Date.UTC(2024, 9, 26), Date.UTC(2024, 9, 28)];
  for (const orderBy of "ts id ip v4 b lc e f32 dec big day at text".split(" ")) {
    for (const order of ["asc", "desc"] as const) {
      const request = { sourceId: "kinds", startTime, endTime, orderBy, order, select: `${orderBy} AS x, id` };
      const whole = await of.rows(searchRequest.parse(request), caller);
      expect(whole.data).toHaveLength(40);
      const got: unknown[] = [];
      for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
        const page = await of.rows(searchRequest.parse({ ...request, limit: 9, ...(cursor && { cursor }) }), caller);
        got.push(...page.data);
        cursor = page.nextCursor;
      }
      expect(got, `${orderBy} ${order}`).toEqual(whole.data);
    }
  }
});
