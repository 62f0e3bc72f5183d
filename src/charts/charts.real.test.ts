/** Charts over rows on a real engine, against the same aggregates computed plainly over the same rows. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChartEngine,
  type ChartRoom,
  chartRoom,
  type RequestInput,
  startEngine,
} from "../../harness/engine/chart-engine.ts";
import type { AppError } from "../lib/errors.ts";

type Row = {
  ts: number;
  service: string;
  level: string;
  n: number | null;
  text: string;
  attrs: Record<string, string>;
  j: object;
};

const t0 = Date.UTC(2024, 2, 30, 20, 0, 0);
const rows: Row[] = Array.from({ length: 3000 }, (_, i) => ({
  ts: t0 + ((i * 7919) % 86_400) * 1000 + (i % 1000),
  service: ["api", "web", "a|b", "a"][(i * 7) % 4] as string,
  level: ["info", "warn", "error"][(i * 13) % 3] as string,
  n: i % 11 === 0 ? null : ((i * 31) % 500) - 50,
  text: i % 5 === 0 ? "not a number" : String(i % 90),
  attrs: (i % 3 === 0 ? {} : { "k8s.pod-name": `p${i % 4}`, region: ["b|c", "c"][i % 2] as string }) as Record<
    string,
    string
  >,
  j: i % 2 ? { a: { b: i % 3 } } : {},
}));

let engine: ChartEngine;
let room: ChartRoom;

beforeAll(async () => {
  engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE c");
  await client.command(`CREATE TABLE c.logs (ts DateTime64(3, 'UTC'), service LowCardinality(String), level String,
    n Nullable(Int64), text String, attrs Map(LowCardinality(String), String), j JSON) ENGINE = MergeTree ORDER BY ts`);
  const lines = rows.map((row) =>
    JSON.stringify({ ...row, ts: new Date(row.ts).toISOString().replace("T", " ").replace("Z", "") }),
  );
  await client.command("INSERT INTO c.logs FORMAT JSONEachRow", { body: Buffer.from(lines.join("\n")) });
  const source = { kind: "log" as const, timestampValueExpression: "ts", implicitColumnExpression: "text" };
  room = chartRoom(client, {
    logs: { ...source, name: "logs", from: { databaseName: "c", tableName: "logs" } },
    again: { ...source, name: "again", from: { databaseName: "c", tableName: "logs" } },
    altered: {
      ...source,
      name: "altered",
      from: { databaseName: "c", tableName: "altered" },
      implicitColumnExpression: "a",
    },
    gone: { ...source, name: "gone", from: { databaseName: "c", tableName: "gone" } },
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

type Item = Partial<RequestInput["series"][number]>;
const request = (series: Item[], extra: Partial<RequestInput> = {}): RequestInput => ({
  startTime: t0,
  endTime: t0 + 86_400_000,
  granularity: "6h",
  ...extra,
  series: series.map((item) => ({ sourceId: "logs", aggFn: "count", ...item })),
});
const ask = (series: Item[], extra?: Partial<RequestInput>) => room.guardQuery(request(series, extra));
const failure = async (series: Item[], extra?: Partial<RequestInput>): Promise<AppError> =>
  ask(series, extra).then(
    () => expect.fail("should be refused"),
    (error) => error as AppError,
  );

const bucketOf = (ts: number) => Math.floor(ts / 21_600_000) * 21_600_000;
/** Rows by bucket and group, in the order of the answer. */
function grouped(keep: (row: Row) => boolean, groupOf: (row: Row) => (string | null)[] = () => []) {
  const groups = Map.groupBy(rows.filter(keep), (row) => JSON.stringify([bucketOf(row.ts), groupOf(row)]));
  return new Map([...groups].map(([key, members]) => [key, members] as const));
}
const numbers = (members: Row[]) => members.map(({ n }) => n).filter((n) => n !== null);
const keyOf = (row: { ts_bucket: number; group: unknown[] }) => JSON.stringify([row.ts_bucket, row.group]);

describe("aggregates", () => {
  test("five aggregates of one column under different filters, per bucket", async () => {
    const filters = [
      { where: "level:error", keep: (row: Row) => row.level === "error" },
      { where: "n:>100", keep: (row: Row) => (row.n ?? 0) > 100 },
      { where: "-level:info", keep: (row: Row) => row.level !== "info" },
      { where: 'service:"a|b"', keep: (row: Row) => row.service === "a|b" },
      { where: "n:<0", keep: (row: Row) => (row.n ?? 0) < 0 },
    ];
    const plain: Record<string, (values: number[]) => number | null> = {
      sum: (values) => values.reduce((a, b) => a + b, 0),
      avg: (values) => (values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length),
      min: (values) => (values.length === 0 ? null : Math.min(...values)),
      max: (values) => (values.length === 0 ? null : Math.max(...values)),
      count_distinct: (values) => new Set(values).size,
    };
    const names = Object.keys(plain) as ("sum" | "avg" | "min" | "max" | "count_distinct")[];
    for (let shift = 0; shift < 5; shift += 1) {
      const order = names.map((_, i) => names[(i + shift) % 5] as (typeof names)[number]);
      const { data } = await ask(order.map((aggFn, i) => ({ aggFn, field: "n", where: filters[i]!.where })));
      const all = grouped((row) => filters.some(({ keep }) => keep(row)));
      expect(data.map(keyOf).sort()).toEqual([...all.keys()].sort());
      for (const row of data) {
        for (const [i, aggFn] of order.entries()) {
          const expected = plain[aggFn]!(numbers((all.get(keyOf(row)) as Row[]).filter(filters[i]!.keep)));
          if (expected === null) expect(row[`series_${i}.data`]).toBeNull();
          else expect(row[`series_${i}.data`]).toBeCloseTo(expected, 6);
        }
      }
    }
  });

  test("quantile interpolates, last_value goes by time, text that is not a number does not count as 0", async () => {
    const { data } = await ask([
      { aggFn: "quantile", level: 0.95, field: "n" },
      { aggFn: "last_value", field: "n" },
      { aggFn: "avg", field: "text" },
      { aggFn: "any", field: "lower(text)", where: 'text:"not a number"' },
    ]);
    const all = grouped(() => true);
    for (const row of data) {
      const members = all.get(keyOf(row)) as Row[];
      const sorted = numbers(members).sort((a, b) => a - b);
      const rank = 0.95 * (sorted.length - 1);
      const [low, high] = [sorted[Math.floor(rank)] as number, sorted[Math.ceil(rank)] as number];
      expect(row["series_0.data"]).toBeCloseTo(low + (rank % 1) * (high - low), 6);
      const valued = members.filter(({ n }) => n !== null).sort((a, b) => a.ts - b.ts);
      expect(row["series_1.data"]).toBe(valued.at(-1)?.n);
      const texts = members.map(({ text }) => Number(text)).filter((value) => !Number.isNaN(value));
      expect(row["series_2.data"]).toBeCloseTo(texts.reduce((a, b) => a + b, 0) / texts.length, 6);
      expect(row["series_3.data"]).toBe("not a number");
    }
  });

  test("group keys: columns, map keys with dots and dashes, JSON paths, expressions; none collide", async () => {
    const groupBy = ["service", "attrs.region", "attrs.k8s.pod-name", "j.a.b", "upper(level)"];
    const { data } = await ask([{ groupBy, where: "-level:warn" }]);
    const all = grouped(
      (row) => row.level !== "warn",
      (row) => {
        const b = (row.j as { a?: { b: number } }).a?.b;
        return [
          row.service,
          row.attrs.region ?? "",
          row.attrs["k8s.pod-name"] ?? "",
          b === undefined ? null : String(b),
          row.level.toUpperCase(),
        ];
      },
    );
    expect(new Map(data.map((row) => [keyOf(row), row["series_0.data"]]))).toEqual(
      new Map([...all].map(([key, members]) => [key, members.length])),
    );
    expect(data.length).toBe(all.size);
  });

  test("rows are sorted by bucket, then group; two sources are joined by both", async () => {
    const { data } = await ask([
      { groupBy: ["service"], where: "level:error" },
      { groupBy: ["service"], where: "level:info", sourceId: "again" },
    ]);
    const keys = data.map((row) => `${row.ts_bucket} ${row.group[0]}`);
    expect(keys).toEqual([...keys].sort());
    const errors = grouped(
      (row) => row.level === "error",
      (row) => [row.service],
    );
    const infos = grouped(
      (row) => row.level === "info",
      (row) => [row.service],
    );
    for (const row of data) {
      expect(row["series_0.data"]).toBe(errors.get(keyOf(row))?.length ?? 0);
      expect(row["series_1.data"]).toBe(infos.get(keyOf(row))?.length ?? 0);
    }
  });

  test("both ends of the range belong to it", async () => {
    const [first, second] = rows.map(({ ts }) => ts).sort((a, b) => a - b) as [number, number];
    const { data } = await ask([{}], { startTime: first, endTime: second });
    expect(data.reduce((sum, row) => sum + row["series_0.data"], 0)).toBe(
      rows.filter(({ ts }) => ts >= first && ts <= second).length,
    );
  });
});

describe("shapes", () => {
  test("ratio is one number per bucket and group; a zero denominator is null", async () => {
    const { data } = await ask(
      [
        { where: "level:error", groupBy: ["service"] },
        { where: "n:449", groupBy: ["service"] },
      ],
      { seriesReturnType: "ratio" },
    );
    const tops = grouped(
      (row) => row.level === "error",
      (row) => [row.service],
    );
    const bottoms = grouped(
      (row) => row.n === 449,
      (row) => [row.service],
    );
    expect(data.some((row) => row["series_0.data"] === null)).toBe(true);
    for (const row of data) {
      const bottom = bottoms.get(keyOf(row))?.length ?? 0;
      const top = tops.get(keyOf(row))?.length ?? 0;
      if (bottom === 0) expect(row["series_0.data"]).toBeNull();
      else expect(row["series_0.data"]).toBeCloseTo(top / bottom, 9);
      expect(Object.keys(row)).not.toContain("series_1.data");
    }
  });

  test("column rows carry what callers of the HyperDX API read", async () => {
    const { data } = await ask([{ aggFn: "sum", field: "n", groupBy: ["service"] }], {
      seriesReturnType: "column",
      granularity: "1d",
    });
    for (const row of data) {
      expect(typeof row.series_0).toBe("number");
      expect(row.series_0).toBe(row["series_0.data"]);
      expect(row.service).toBe(row.group[0]);
      expect(row.__hdx_time_bucket).toBe(new Date(row.ts_bucket).toISOString().replace(".000Z", "Z"));
    }
  });

  test("fill, limit and formula", async () => {
    const { data, truncated } = await ask(
      [{ groupBy: ["attrs.region"], where: "level:error n:>430" }, { groupBy: ["attrs.region"] }],
      {
        granularity: "30m",
        fill: "zero",
        limit: 2,
        formula: "series_0 / series_1 * 100",
      },
    );
    expect(truncated).toBe(true);
    expect(new Set(data.map((row) => row.group[0])).size).toBe(2);
    expect(data.length).toBe(2 * 49);
    for (const row of data) {
      const expected = row["series_1.data"] === 0 ? 0 : (row["series_0.data"] / row["series_1.data"]) * 100;
      expect(row["formula.data"]).toBeCloseTo(expected, 9);
    }
  });

  test.each(["Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "UTC"])(
    "buckets of %s are local, across a change of clocks",
    async (timezone) => {
      for (const granularity of ["15m", "1h", "6h", "1d", "7d"] as const) {
        const { data } = await ask([{}], { timezone, granularity });
        const step = { "15m": 900, "1h": 3600, "6h": 21_600, "1d": 86_400, "7d": 604_800 }[granularity] * 1000;
        const counted = data.reduce((sum, row) => sum + row["series_0.data"], 0);
        expect(counted).toBe(rows.length);
        const wallClock = (ms: number) => {
          const text = new Intl.DateTimeFormat("sv-SE", {
            timeZone: timezone,
            dateStyle: "short",
            timeStyle: "medium",
          }).format(ms);
          return Date.parse(`${text.replace(" ", "T")}Z`);
        };
        for (const [i, row] of data.entries()) {
          expect(
            wallClock(row.ts_bucket) % Math.min(step, 86_400_000),
            `${granularity} ${new Date(row.ts_bucket).toISOString()}`,
          ).toBe(0);
          const end = data[i + 1]?.ts_bucket ?? Number.POSITIVE_INFINITY;
          expect(row["series_0.data"]).toBe(rows.filter(({ ts }) => ts >= row.ts_bucket && ts < end).length);
        }
      }
    },
  );

  test("CSV and NDJSON say the same as JSON", async () => {
    const body = request([{ groupBy: ["service"] }]);
    const { data } = await room.guardQuery(body);
    const lines = (await room.outcome(body, { format: "ndjson" })).text.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(data);
    const csv = (await room.outcome(body, { format: "csv" })).text.trim().split("\r\n");
    expect(csv[0]).toBe("ts_bucket,service,series_0.data");
    expect(csv.slice(1)).toEqual(data.map((row) => `${row.ts_bucket},${row.group[0]},${row["series_0.data"]}`));
  });
});

describe("mistakes and limits", () => {
  test.each([
    [{ where: "levl:x" }, "UNKNOWN_COLUMN", 0],
    [{ where: "level:x AND (n:5" }, "FILTER_INVALID", 12],
    [{ where: "n:abc" }, "FILTER_INVALID", 2],
    [{ where: "level = 'x' AND n IN (SELECT 1)", whereLanguage: "sql" as const }, "FILTER_INVALID", 22],
    [{ groupBy: ["srvice"] }, "UNKNOWN_COLUMN", 0],
    [{ groupBy: ["file('/etc/passwd')"] }, "FILTER_INVALID", 0],
    [{ aggFn: "sum" as const, field: "sleep(1)" }, "FILTER_INVALID", 0],
  ])("%j is refused with its place", async (item: Item, code, position) => {
    const error = await failure([item]);
    expect([error.status, error.code, error.issues?.[0]?.position]).toEqual([400, code, position]);
  });

  test("types that do not fit are 400, also where only the engine can tell", async () => {
    for (const item of [
      { where: "level + 1 > 2", whereLanguage: "sql" as const },
      { where: "level", whereLanguage: "sql" as const },
      { aggFn: "sum" as const, field: "attrs" },
      { aggFn: "sum" as const, field: "lower(n)" },
      { aggFn: "increase" as const, field: "n" },
      { groupBy: ["length(n)"] },
    ]) {
      const error = await failure([item]);
      expect([error.status, error.message.includes("SELECT")], JSON.stringify(item)).toEqual([400, false]);
    }
    expect((await failure([{ sourceId: "nothing" }])).status).toBe(404);
    expect((await failure([{ sourceId: "gone" }])).status).toBe(422);
    expect((await failure([{}], { granularity: "30s", startTime: 0 })).status).toBe(400);
  });

  test("nothing can be written, and settings cannot be changed", async () => {
    const { client } = engine;
    const before = await client.text("SELECT count() FROM c.logs");
    for (const where of [
      "1) SETTINGS max_threads = 1 --",
      "1; DROP TABLE c.logs",
      "n = (SELECT 1)",
      "1 INTO OUTFILE '/tmp/x'",
    ]) {
      expect((await failure([{ where, whereLanguage: "sql" }])).status, where).toBe(400);
    }
    expect(await client.text("SELECT count() FROM c.logs")).toBe(before);
  });

  test("an ALTER TABLE is seen by the next chart", async () => {
    const { client } = engine;
    await client.command("CREATE TABLE c.altered (ts DateTime, a String) ENGINE = MergeTree ORDER BY ts");
    await client.command(`INSERT INTO c.altered VALUES (${t0 / 1000}, '7')`);
    const sum = () => ask([{ sourceId: "altered", aggFn: "count", where: "a:7" }]);
    expect((await sum()).data).toHaveLength(1);
    expect((await failure([{ sourceId: "altered", where: "b:x" }])).code).toBe("UNKNOWN_COLUMN");
    await client.command("ALTER TABLE c.altered ADD COLUMN b String DEFAULT 'xy'");
    expect((await ask([{ sourceId: "altered", where: "b:x" }])).data).toHaveLength(1);
    await client.command("ALTER TABLE c.altered MODIFY COLUMN a UInt32 SETTINGS mutations_sync = 2");
    expect((await ask([{ sourceId: "altered", where: "a:>6" }])).data).toHaveLength(1);
    expect((await failure([{ sourceId: "altered", where: "a:x" }])).message).toContain("is a number");
    await client.command("DROP TABLE c.altered SYNC");
  });

  test("an ALTER TABLE is seen although the query as planned before would still run", async () => {
    const { client } = engine;
    await client.command("CREATE TABLE c.altered (ts DateTime, n Int32) ENGINE = MergeTree ORDER BY ts");
    await client.command(`INSERT INTO c.altered VALUES (${t0 / 1000}, 7)`);
    let endTime = t0 + 86_400_000;
    const sum = async () => {
      // Another range each time, so that nothing that is kept could be the answer.
      endTime += 1;
      const { data } = await ask([{ sourceId: "altered", aggFn: "sum", field: "n" }], { endTime });
      return data[0]["series_0.data"];
    };
    expect(await sum()).toBe(7);
    await client.command("ALTER TABLE c.altered MODIFY COLUMN n Int64 SETTINGS mutations_sync = 2");
    await client.command(`INSERT INTO c.altered SELECT ${t0 / 1000}, 5000000000000000000 FROM numbers(2)`);
    // Summed as 32-bit integers are, these wrap around below zero.
    expect(await sum()).toBe(1e19);
  });

  test("an answer is kept until a row changes, and its tag says so", async () => {
    const body = request([{ where: "level:error" }], { granularity: "1h" });
    const first = await room.outcome(body);
    const second = await room.outcome(body);
    expect(first.etag).toBeDefined();
    expect(second).toMatchObject({ cached: true, etag: first.etag, text: first.text });
    expect((await room.outcome(body, { known: [first.etag as string] })).body).toBeUndefined();
    await engine.client.command("INSERT INTO c.logs (ts, level) SELECT '2020-01-01', 'x'");
    const third = await room.outcome(body, { known: [first.etag as string] });
    expect(third.cached).toBe(false);
    expect(third.text).toBe(first.text);
    const volatile = await room.outcome(request([{ where: "ts < now()", whereLanguage: "sql" }]));
    expect(volatile.etag).toBeUndefined();
  });
});
