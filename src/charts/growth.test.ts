/** What a short request may grow to while it is written as SQL: in bytes, in parts, and in time. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuMs, cpuNow } from "../../harness/cpu-time.ts";
import { sourceBody } from "../api/chart-sources.ts";
import { type SeriesItem, seriesItem } from "../api/charts.ts";
import { parseType } from "../clickhouse/types.ts";
import { AppError } from "../lib/errors.ts";
import { nearMatches } from "../lib/near-matches.ts";
import { maxWrittenBytes } from "./columns/budget.ts";
import { tableSchema } from "./columns/schema.ts";
import { Buckets } from "./plan/buckets.ts";
import { planEvents } from "./plan/events.ts";
import type { QueryPlan } from "./plan/plan.ts";

const range = { startMs: 1_714_557_600_000, endMs: 1_714_561_199_999 };
const buckets = new Buckets({ ...range, granularity: "30m", zone: "UTC" });
const schema = tableSchema("d", "t", [
  { name: "t", type: "DateTime" },
  { name: "n", type: "UInt64" },
  { name: "s", type: "String" },
  { name: "m", type: "Map(String, String)" },
]);

function plan(series: Partial<SeriesItem>[], implicit = "s"): Promise<QueryPlan> {
  const serviceId = "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11";
  const body = sourceBody.parse({
    ...{ name: "x", kind: "log", serviceId, from: { databaseName: "d", tableName: "t" } },
    ...{ timestampValueExpression: "t", implicitColumnExpression: implicit },
  });
  const times = { version: 1, createdAt: "2024-01-01T00:00:00.000Z", updatedAt: "2024-01-01T00:00:00.000Z" };
  const items = series.map((one) => seriesItem.parse({ sourceId: "x", aggFn: "count", ...one }));
  return planEvents({
    source: { ...body, ...times, id: serviceId, serviceId, connection: serviceId },
    schema,
    series: items.map((item, index) => ({ item, index })),
    range,
    buckets,
    mostGroups: undefined,
    exactQuantiles: true,
    warn: () => {},
    typesOf: async (expressions) => expressions.map(() => parseType("Float64")),
  });
}

const sql = (where: string) => plan([{ where, whereLanguage: "sql" }]);
const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => "answered",
    (error: unknown) => (error instanceof AppError ? `${error.status} ${error.message}` : String(error)),
  );

const betweens = (count: number) => `n${" BETWEEN 1 AND 2".repeat(count)}`;
const nestedBetweens = (count: number) => `${"(".repeat(count)}n${" BETWEEN 1 AND 2)".repeat(count)}`;
function nestedCase(depth: number, whens: number): string {
  if (depth === 0) return "n";
  const when = Array.from({ length: whens }, (_, i) => `WHEN ${i} THEN ${i}`).join(" ");
  return `CASE ${nestedCase(depth - 1, whens)} ${when} ELSE 0 END`;
}
const phrase = (count: number) => `"${Array.from({ length: count }, (_, i) => `w${i.toString(36)}`).join(" ")}"`;

describe("short inputs that stood for millions of characters", () => {
  test.each([20, 22, 24])("%i times BETWEEN", async (count) => {
    expect(await refused(sql(betweens(count)))).toMatch(/^400 .*put parentheses around the first BETWEEN/);
  });

  test("BETWEEN in parentheses is counted as often as the engine reads it, and written once", async () => {
    expect((await sql(nestedBetweens(10))).sql.length).toBeLessThan(1000);
    expect(await refused(sql(nestedBetweens(20)))).toMatch(/^400 .*more than 5000 parts/);
    expect(await refused(sql(nestedBetweens(90)))).toMatch(/^400 .*more than 5000 parts/);
  });

  test("CASE reads its subject once", async () => {
    const text = nestedCase(7, 8);
    expect(text.length).toBeLessThan(900);
    expect((await sql(text)).sql.length).toBeLessThan(3 * text.length);
  });

  test("a long phrase, many implicit columns, and many short phrases on some", async () => {
    expect(await refused(plan([{ where: phrase(1500) }], "m,".repeat(299).concat("m")))).toMatch(
      /^400 .*more than 16 columns/,
    );
    expect(await refused(plan([{ where: phrase(1500) }]))).toMatch(/^400 .*at most 100 different words/);
    const many = Array.from({ length: 50 }, () => phrase(90)).join(" ");
    expect(await refused(plan([{ where: many }], "m,m,m,m"))).toMatch(/^400 .*the query would have more than/);
    expect(await refused(plan([{ where: "*a".repeat(101) }]))).toMatch(/^400 .*at most 100 wildcards/);
  });

  test("the limit is one for all series, groups and fields of a query", async () => {
    const text = Array.from({ length: 1200 }, (_, i) => `n = ${i}`).join(" OR ");
    const series = { where: text, whereLanguage: "sql" } as const;
    expect((await plan([series])).sql.length).toBeLessThan(maxWrittenBytes);
    expect(await refused(plan([series, { ...series, where: `${text} OR n = 7` }]))).toMatch(/^400 series\.1\.where/);
  });

  test("long texts that are bound or name things count in bytes", async () => {
    const texts = Array.from({ length: 5 }, (_, i) => `s = '${"x".repeat(29_000 + i)}'`);
    const series = texts.map((where) => ({ where, whereLanguage: "sql" as const }));
    const groupBy = texts.map((_, i) => `m['${"k".repeat(27_000 + i)}']`);
    expect((await plan(series)).params.budget.bytes).toBeGreaterThan(5 * 29_000);
    expect(
      await refused(
        plan(series.map((one) => ({ ...one, field: `m['${"é".repeat(30_000)}']`, aggFn: "max", groupBy }))),
      ),
    ).toMatch(/^400 .*longer than 262144 bytes/);
  });
});

/** Each wraps an expression in one that reads it again. */
const wrappers = [
  (x: string) => `(${x} BETWEEN 1 AND 2)`,
  (x: string) => `(${x} NOT BETWEEN n AND 2)`,
  (x: string) => `CASE ${x} WHEN 1 THEN 2 WHEN 3 THEN n END`,
  (x: string) => `CASE WHEN ${x} THEN 2 ELSE 1 END`,
  (x: string) => `CASE n WHEN 1 THEN ${x} ELSE 2 END`,
  (x: string) => `(${x} IN (1, 2))`,
  (x: string) => `(${x} ? 1 : 2)`,
  (x: string) => `CAST(${x} AS Int64)`,
  (x: string) => `(${x})::Float64`,
  (x: string) => `EXTRACT(DAY FROM ${x})`,
  (x: string) => `[${x}][1]`,
  (x: string) => `(n + INTERVAL ${x} DAY)`,
  (x: string) => `- ${x}`,
  (x: string) => `arrayMap(v -> ${x} + v, [1])`,
  (x: string) => `(${x} IS NOT NULL)`,
  (x: string) => `(${x} AND n)`,
];

/** Characters written for a text, or undefined when it is refused; and the processor time, the best of three. */
async function cost(where: string, language: "sql" | "lucene") {
  let bytes: number | undefined;
  let ms = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3; i += 1) {
    const taken = await cpuMs(async () => {
      try {
        bytes = (await plan([{ where, whereLanguage: language }], "s,m.a,concat(s, s)")).sql.length;
      } catch (error) {
        if (!(error instanceof AppError && error.status === 400)) throw error;
      }
    });
    ms = Math.min(ms, taken);
  }
  return { bytes, ms };
}

async function growsEvenly(once: string, twice: string, language: "sql" | "lucene") {
  const [empty, one, two] = [await cost("", language), await cost(once, language), await cost(twice, language)];
  // A fixed part belongs to every query; the time has a bound that a busy machine keeps.
  expect(two.ms).toBeLessThan(3 * one.ms + 300);
  if (one.bytes === undefined || two.bytes === undefined) return;
  const fixed = empty.bytes as number;
  expect(two.bytes - fixed).toBeLessThan(3 * (one.bytes - fixed) + 100);
}

describe("twice the input costs at most three times as much", () => {
  test("expressions within expressions", async () => {
    const wrapped = (chosen: readonly number[]) =>
      chosen.reduce((text, i) => (wrappers[i] as (x: string) => string)(text), "n");
    const choice = fc.array(fc.nat(wrappers.length - 1), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(choice, async (chosen) => {
        await growsEvenly(wrapped(chosen), wrapped([...chosen, ...chosen]), "sql");
      }),
      { numRuns: 150, seed: 14 },
    );
  });

  test("filters beside and within filters", async () => {
    const parts = [
      "error ",
      '"connection refused" ',
      "s:x* ",
      "n:[1 TO 5] ",
      "m.key:>3 ",
      "-(a OR b) ",
      "t:2024-05 ",
      "NOT ",
      "a*b?c ",
      "\\~ ",
    ];
    const filter = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(filter, fc.nat(60), async (chosen, depth) => {
        const text = `${chosen.join("")}x`;
        const nest = (levels: number, inner: string) => `${"(".repeat(levels)}${inner}${")".repeat(levels)}`;
        await growsEvenly(nest(depth, text), nest(depth, `${text} ${text}`), "lucene");
      }),
      { numRuns: 100, seed: 14 },
    );
  });

  test.each(["j.a", "zz.a.", "s['k']", "n.1", "(n,", "-", "NOT ", "n::String", "{a:", "x'41' ", "1_", "n IN (1,"])(
    "%s again and again",
    async (unit) => {
      const times = Math.floor(16_000 / unit.length);
      await growsEvenly(unit.repeat(times), unit.repeat(2 * times), "sql");
      await growsEvenly(unit.repeat(times), unit.repeat(2 * times), "lucene");
    },
  );
});

test("a name that is nowhere in a wide table is looked for in the first columns", async () => {
  const names = Array.from({ length: 50_000 }, (_, i) => `column_with_a_long_name_${i}_${"x".repeat(30)}`);
  const taken = await cpuMs(() => {
    expect(nearMatches(`xolumn_with_b_long_name_9_${"y".repeat(40)}`, names)).toEqual([]);
  });
  expect(taken).toBeLessThan(1_500);
});

test("the longest texts of many requests leave turns to others", async () => {
  const text = `n IN (1${", 1".repeat(900)}) OR s = '${"x".repeat(29_000)}'`;
  const series = Array.from({ length: 5 }, () => ({ where: text, whereLanguage: "sql" as const, groupBy: [text] }));
  let turns = 0;
  let longest = 0;
  let last = cpuNow();
  const timer = setInterval(() => {
    longest = Math.max(longest, cpuNow() - last);
    last = cpuNow();
    turns += 1;
  }, 1);
  const whole = await cpuMs(() => Promise.all(Array.from({ length: 8 }, () => refused(plan(series)))));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  expect(longest).toBeLessThan(Math.max(500, whole / 2));
});
