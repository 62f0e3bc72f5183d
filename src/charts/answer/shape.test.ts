/** The pure parts of charts: buckets, merging, filling, limits, formulas, formats, the queue and the cache. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seriesItem, seriesRequest } from "../../api/charts.ts";
import { parseTime } from "../filter/values.ts";
import { parseFormula } from "../formula.ts";
import { TokenGate } from "../gate.ts";
import { quantileOf } from "../metrics/quantile.ts";
import { Buckets, bucketSize } from "../plan/buckets.ts";
import { instantOf, isTimeZone, offsetAt } from "../timezone.ts";
import { formatFor, write } from "./answer.ts";
import { ChartAnswerCache } from "./cache.ts";
import { limitGroups } from "./groups.ts";
import { fillGaps, mergePlans, type Row, ratioOf } from "./rows.ts";

const hour = 3_600_000;
const t0 = Date.UTC(2024, 4, 1);

describe("buckets", () => {
  test.each([
    [900, 15],
    [901, 30],
    [1800, 30],
    [3600, 60],
    [18_000, 300],
    [54_000, 900],
    [108_000, 1800],
    [216_000, 3600],
    [432_000, 7200],
    [1_296_000, 21_600],
    [2_592_000, 43_200],
    [5_184_000, 86_400],
    [10_368_000, 172_800],
    [36_288_000, 604_800],
    [36_288_001, 2_592_000],
  ])("auto over %i s is %i s", (range, size) => {
    expect(bucketSize("auto", t0, t0 + range * 1000)).toBe(size * 1000);
  });

  test("every instant lies in the bucket that begins at or before it, in every zone and size", () => {
    const zones = [
      "UTC",
      "Europe/Berlin",
      "America/Sao_Paulo",
      "Asia/Kathmandu",
      "Australia/Lord_Howe",
      "Africa/Casablanca",
    ];
    const sizes = ["30s", "5m", "15m", "1h", "2h", "6h", "12h", "1d", "7d"] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...sizes),
        fc.integer({ min: 0, max: 4e9 }),
        (zone, granularity, s) => {
          const ms = s * 1000 + 7;
          const buckets = new Buckets({ startMs: ms, endMs: ms, granularity, zone });
          const index = buckets.indexOf(ms);
          expect(buckets.startOf(index)).toBeLessThanOrEqual(ms);
          expect(buckets.startOf(index + 1)).toBeGreaterThan(ms);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("too many are refused with the field that helps", () => {
    expect(() => new Buckets({ startMs: 0, endMs: t0, granularity: "30s", zone: "UTC" })).toThrow(/at most 11000/);
  });

  test("wall clocks: skipped and repeated hours, and a year of round trips", () => {
    const clock = { year: 2024, month: 3, day: 31, hour: 2, minute: 30, second: 0 };
    expect(instantOf(clock, "Europe/Berlin")).toBe(Date.UTC(2024, 2, 31, 1, 30));
    expect(instantOf({ ...clock, month: 10, day: 27 }, "Europe/Berlin")).toBe(Date.UTC(2024, 9, 27, 0, 30));
    for (let ms = t0; ms < t0 + 365 * 24 * hour; ms += 7 * hour) {
      const local = new Date(ms + offsetAt(ms, "America/New_York"));
      const again = instantOf(
        {
          year: local.getUTCFullYear(),
          month: local.getUTCMonth() + 1,
          day: local.getUTCDate(),
          hour: local.getUTCHours(),
          minute: local.getUTCMinutes(),
          second: 0,
        },
        "America/New_York",
      );
      expect([ms, ms - hour]).toContain(again);
    }
    expect([isTimeZone("Europe/Paris"), isTimeZone("x'); --"), isTimeZone("+02:00"), isTimeZone("")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test("times of a filter are spans", () => {
    const ns = (ms: number) => BigInt(ms) * 1_000_000n;
    expect(parseTime("2024-02", "UTC")).toEqual({ from: ns(Date.UTC(2024, 1)), to: ns(Date.UTC(2024, 2)) });
    expect(parseTime("2024-03-31", "Europe/Berlin")).toEqual({
      from: ns(Date.UTC(2024, 2, 30, 23)),
      to: ns(Date.UTC(2024, 2, 31, 22)),
    });
    expect(parseTime("2024-05-01T00:00:00.5", "UTC")).toEqual({ from: ns(t0 + 500), to: ns(t0 + 600) });
    for (const text of [
      "2024-02-30",
      "24-01-01",
      "2024-01-01T25:00",
      "1800-01-01",
      "2300-01-01",
      "x",
      "2024-01-01T10",
      "12345",
    ]) {
      expect(parseTime(text, "UTC"), text).toBeUndefined();
    }
  });
});

const row = (bucket: number, group: (string | null)[], ...values: (number | null)[]): Row => ({
  bucket,
  group,
  values,
});
const item = (aggFn: "count" | "avg") => seriesItem.parse({ sourceId: "s", aggFn });

describe("rows", () => {
  test("plans are joined by bucket and group, whatever characters a group holds", () => {
    const items = [item("count"), item("avg")];
    const merged = mergePlans(
      [
        { series: [{ index: 0, item: items[0]! }], rows: [row(1, ["a|b", "c"], 1), row(1, ["a", "b|c"], 2)] },
        { series: [{ index: 1, item: items[1]! }], rows: [row(0, ["z", "z"], 5), row(1, ["a", "b|c"], 3)] },
      ],
      items,
    );
    expect(merged).toEqual([row(0, ["z", "z"], 0, 5), row(1, ["a", "b|c"], 2, 3), row(1, ["a|b", "c"], 1, null)]);
  });

  test("a ratio without a denominator is null, without a numerator 0", () => {
    const rows = [row(0, [], 1, 2), row(1, [], 1, 0), row(2, [], 1, null), row(3, [], null, 2)];
    expect(ratioOf(rows).map(({ values }) => values[0])).toEqual([0.5, null, null, 0]);
  });

  test("a limit keeps the groups with the greatest values, and says what it did", () => {
    const rows = [row(0, ["a"], 1), row(0, ["b"], 9), row(0, ["c"], 5), row(1, ["a"], 7)];
    expect(limitGroups(rows, 2)).toEqual({
      rows: [row(0, ["a"], 1), row(0, ["b"], 9), row(1, ["a"], 7)],
      left: [row(0, ["c"], 5)],
      leftGroups: 1,
    });
    expect(limitGroups(rows, 3).left).toEqual([]);
  });

  test("gaps are filled for every bucket and group", () => {
    const buckets = new Buckets({ startMs: t0, endMs: t0 + 3 * hour, granularity: "1h", zone: "UTC" });
    const [first] = [buckets.first];
    const rows = [row(first + 1, ["a"], 3), row(first + 3, ["b"], null)];
    const shape = { groups: 1, values: 1 };
    const filled = (fill: "null" | "zero" | "previous") =>
      fillGaps(rows, fill, buckets, shape).map(({ group, values }) => `${group[0]}${values[0]}`);
    expect(filled("null")).toEqual(["anull", "bnull", "a3", "bnull", "anull", "bnull", "anull", "bnull"]);
    expect(filled("zero")).toEqual(["a0", "b0", "a3", "b0", "a0", "b0", "a0", "b0"]);
    expect(filled("previous")).toEqual(["anull", "bnull", "a3", "bnull", "a3", "bnull", "a3", "bnull"]);
    expect(fillGaps([], "zero", buckets, { groups: 0, values: 2 })).toHaveLength(4);
    expect(fillGaps([], "zero", buckets, shape)).toHaveLength(0);
  });
});

test("formulas: precedence, functions, nothing from nothing", () => {
  const value = (text: string, ...values: (number | null)[]) => parseFormula(text, values.length)(values);
  expect(value("series_0 + series_1 * 2 - -1", 1, 2)).toBe(6);
  expect(value("(series_0 + series_1) / 4", 1, 2)).toBe(0.75);
  expect(value("max(series_0, abs(-5), 3)", 1)).toBe(5);
  expect([value("series_0 / 0", 1), value("series_0 * 2", null), value("ln(series_0)", -1)]).toEqual([
    null,
    null,
    null,
  ]);
  for (const bad of ["", "series_1", "x", "1 +", "(1", "abs()", "constructor(1)", "1 2", "(".repeat(99)]) {
    expect(() => parseFormula(bad, 1), bad).toThrow();
  }
});

test("quantiles: edges, one bucket, nothing", () => {
  const histogram = { bounds: [10, 50, 100], counts: [8, 22, 8, 2] };
  expect([0, 0.2, 0.75, 0.95, 1].map((level) => quantileOf([histogram], level))).toEqual([0, 10, 50, 100, 100]);
  expect(quantileOf([histogram], 0.5)).toBeCloseTo(31.818_181, 5);
  expect(quantileOf([{ bounds: [5], counts: [0, 3] }], 0.5)).toBe(5);
  expect(quantileOf([{ bounds: [-5, 5], counts: [4, 4, 0] }], 0.25)).toBe(-5);
  expect(quantileOf([{ bounds: [], counts: [3] }], 0.5)).toBeNull();
  expect(quantileOf([{ bounds: [1], counts: [0, 0] }], 0.5)).toBeNull();
});

describe("answers", () => {
  const request = seriesRequest.parse({
    series: [{ sourceId: "s", aggFn: "count", groupBy: ["__proto__", 'a "b"'] }],
    startTime: t0,
    endTime: t0,
    granularity: "1h",
    seriesReturnType: "column",
  });
  const buckets = new Buckets({ startMs: t0, endMs: t0, granularity: "1h", zone: "UTC" });
  const answer = { rows: [row(buckets.first, ["p", 'x,"y'], 1)], columns: ["series_0"], truncated: undefined };

  test("no name of a group can hide a member or reach a prototype", () => {
    const [only] = JSON.parse([...write(answer, "json", request, buckets)].join("")).data;
    expect(Object.keys(only).sort()).toEqual([
      "__hdx_time_bucket",
      "__proto__",
      'a "b"',
      "group",
      "series_0",
      "series_0.data",
      "ts_bucket",
    ]);
  });

  test("CSV quotes what needs it", () => {
    expect([...write(answer, "csv", request, buckets)].join("")).toBe(
      `ts_bucket,__proto__,"a ""b""",series_0.data\r\n${t0},p,"x,""y",1\r\n`,
    );
  });

  test("the Accept header decides, JSON unless another is preferred", () => {
    expect([undefined, "*/*", "text/csv", "application/json, text/csv;q=0.5", "text/html"].map(formatFor)).toEqual([
      "json",
      "json",
      "csv",
      "json",
      "json",
    ]);
    expect(formatFor("application/json;q=0.2, application/x-ndjson")).toBe("ndjson");
  });
});

test("the gate lets so many in, keeps the order, and forgets who left the queue", async () => {
  const gate = new TokenGate({ running: 1, waiting: 2 });
  const { signal } = new AbortController();
  const leave = await gate.enter("t", signal);
  const order: string[] = [];
  const gone = new AbortController();
  const first = gate.enter("t", gone.signal);
  const second = gate.enter("t", signal).then((out) => {
    order.push("second");
    return out;
  });
  await expect(gate.enter("t", signal)).rejects.toThrow("are waiting");
  (await gate.enter("other", signal))();
  gone.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  leave();
  leave();
  (await second)();
  expect(order).toEqual(["second"]);
  (await gate.enter("t", signal))();
});

test("the cache forgets by age and by size, least used first", () => {
  let now = 0;
  const cache = new ChartAnswerCache<string>({ bytes: 100, ttlMs: 10, now: () => now });
  for (const key of ["a", "b", "c", "d"]) cache.set(key, key, 25);
  cache.get("a");
  cache.set("e", "e", 25);
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual(["a", undefined, "c"]);
  cache.set("huge", "x", 26);
  expect(cache.get("huge")).toBeUndefined();
  now = 11;
  expect([cache.has("a"), cache.get("a")]).toEqual([false, undefined]);
});
