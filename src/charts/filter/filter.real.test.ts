/**
 * The meaning of filters on a real engine: random filters are built together with a plain predicate over the same rows,
 * which knows nothing of the parser or of SQL.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChartEngine, startEngine } from "../../../harness/engine/chart-engine.ts";
import { resolveField } from "../columns/operand.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { compileFilter } from "./compile.ts";
import { parseFilter } from "./parser.ts";

type Row = {
  id: number;
  Body: string;
  Level: string;
  N: number | null;
  F: number;
  Ok: boolean;
  Day: string;
  Time: string;
  Attrs: Record<string, string>;
  Tags: string[];
  Nums: number[];
  J: { a?: { b?: string | number } };
  Raw: string;
};

const columns = [
  { name: "id", type: "UInt32" },
  { name: "Body", type: "String" },
  { name: "Level", type: "LowCardinality(String)" },
  { name: "N", type: "Nullable(Int64)" },
  { name: "F", type: "Float64" },
  { name: "Ok", type: "Bool" },
  { name: "Day", type: "Date" },
  { name: "Time", type: "DateTime64(3, 'UTC')" },
  { name: "Attrs", type: "Map(LowCardinality(String), String)" },
  { name: "Tags", type: "Array(String)" },
  { name: "Nums", type: "Array(Int32)" },
  { name: "J", type: "JSON" },
  { name: "Raw", type: "String" },
];

const bodies = [
  "Connection timeout to db-1",
  "user_id=42 logged in",
  "100% done, it's 'ok'",
  "path C:\\temp\\x (copy)",
  "Überprüfung läuft",
  "GET http://x.y:80/a?b=1",
  "",
  "error: Error ERROR",
];
const levels = ["info", "Error", "warn", "err", ""];

const rows: Row[] = Array.from({ length: 240 }, (_, id) => ({
  id,
  Body: bodies[id % bodies.length] as string,
  Level: levels[id % levels.length] as string,
  N: id % 7 === 0 ? null : (id % 23) - 5,
  F: ((id * 37) % 100) / 8,
  Ok: id % 3 === 0,
  Day: new Date(Date.UTC(2024, 0, 1 + (id % 60))).toISOString().slice(0, 10),
  Time: new Date(Date.UTC(2024, 0, 1, id % 48, id % 60, id % 50, (id * 41) % 1000)).toISOString(),
  Attrs:
    id % 4 === 0
      ? ({} as Record<string, string>)
      : { "service.name": ["api", "web", "12"][id % 3] as string, "a b": String(id % 15) },
  Tags: [[], ["x"], ["x", "yy"], ["Zed"]][id % 4] as string[],
  Nums: [[], [1], [5, 9]][id % 3] as number[],
  J: id % 5 === 0 ? {} : { a: id % 2 ? { b: ["s1", "S2"][id % 3 ? 1 : 0] as string } : { b: id % 9 } },
  Raw: id % 6 === 0 ? "no json" : JSON.stringify({ k: { n: id % 4, s: id % 2 ? "On" : "off" } }),
}));

const schema = tableSchema("f", "rows", columns);
let engine: ChartEngine;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE f");
  const list = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  await engine.client.command(`CREATE TABLE f.rows (${list}) ENGINE = MergeTree ORDER BY (Level, id)`);
  const lines = rows.map((row) => JSON.stringify({ ...row, Time: row.Time.replace("T", " ").replace("Z", "") }));
  await engine.client.command("INSERT INTO f.rows FORMAT JSONEachRow", { body: Buffer.from(lines.join("\n")) });
});
afterAll(() => engine[Symbol.asyncDispose]());

/** The ids that a filter selects, in WHERE and as a flag inside an aggregate: both must agree. */
async function select(filter: string): Promise<number[]> {
  const params = new Params();
  const implicit = [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)];
  const condition = compileFilter(parseFilter(filter), { schema, params, zone: "UTC", implicit: () => implicit });
  if (condition === undefined) return rows.map(({ id }) => id);
  const flag = condition.nullable ? `ifNull(${condition.sql}, false)` : condition.sql;
  const sql = `SELECT (SELECT groupArray(id) FROM f.rows WHERE ${condition.sql}) AS a,
    (SELECT groupArrayIf(id, ${flag}) FROM f.rows) AS b FORMAT JSONEachRow`;
  const answer = JSON.parse(await engine.client.text(sql, { params: params.values() })) as { a: number[]; b: number[] };
  const order = (ids: number[]) => ids.sort((x, y) => x - y);
  expect(order(answer.b)).toEqual(order(answer.a));
  return answer.a;
}

const matching = (predicate: (row: Row) => boolean) => rows.filter(predicate).map(({ id }) => id);

type Case = { readonly text: string; readonly test: (row: Row) => boolean };

const lower = (text: string) => text.toLowerCase();
const has = (text: string, part: string) => lower(text).includes(lower(part));
const words = (text: string) => lower(text).split(/[^a-z0-9\u0080-\uffff]+/);
const quote = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const ms = (row: Row) => Date.parse(row.Time);
const attr = (row: Row, key: string) => row.Attrs[key] ?? "";
const jsonText = (row: Row) => (row.J.a?.b === undefined ? undefined : String(row.J.a.b));
const rawOf = (row: Row, key: "n" | "s") => {
  const document = row.Raw.startsWith("{") ? (JSON.parse(row.Raw) as { k: { n: number; s: string } }) : undefined;
  return document === undefined ? undefined : String(document.k[key]);
};

const leaf: fc.Arbitrary<Case> = fc.oneof(
  fc.constantFrom<Case>(
    { text: "error", test: (row) => words(row.Body).includes("error") },
    { text: "TIMEOUT", test: (row) => words(row.Body).includes("timeout") },
    { text: "time*", test: () => false },
    { text: "conn*", test: (row) => lower(row.Body).startsWith("conn") },
    { text: "*logged*", test: (row) => has(row.Body, "logged") },
    { text: '"logged in"', test: (row) => has(row.Body, "logged in") },
    { text: "user_id", test: (row) => has(row.Body, "user_id") },
    { text: '"100%"', test: (row) => has(row.Body, "100%") },
    { text: "http://x.y:80/a?b=1", test: (row) => has(row.Body, "http://x.y:80/a?b=1") },
    { text: "läuft", test: (row) => has(row.Body, "läuft") },
    { text: "*:*", test: () => true },
    { text: "*", test: () => true },
  ),
  fc
    .constantFrom("info", "ERR", "warn")
    .map((word) => ({ text: `Level:${word}`, test: (row: Row) => has(row.Level, word) })),
  fc
    .constantFrom(...levels)
    .map((level) => ({ text: `Level:${quote(level)}`, test: (row: Row) => row.Level === level })),
  fc.constantFrom(...bodies).map((body) => ({ text: `Body:${quote(body)}`, test: (row: Row) => row.Body === body })),
  fc.constantFrom<Case>(
    { text: "Level:e*r", test: (row) => /^e.*r$/i.test(row.Level) },
    { text: "Level:?rr*", test: (row) => /^.rr.*$/i.test(row.Level) },
    { text: "Level:*", test: (row) => row.Level !== "" },
    { text: "Level:(info OR warn)", test: (row) => has(row.Level, "info") || has(row.Level, "warn") },
    { text: 'Level:("Error" OR -err)', test: (row) => row.Level === "Error" || !has(row.Level, "err") },
    { text: "Body:C\\:\\\\temp", test: (row) => has(row.Body, "C:\\temp") },
    { text: "Body:100%", test: (row) => has(row.Body, "100%") },
    { text: "N:*", test: (row) => row.N !== null },
    { text: "Ok:true", test: (row) => row.Ok },
    { text: 'Ok:"0"', test: (row) => !row.Ok },
    { text: "F:2.5", test: (row) => row.F === 2.5 },
    { text: "F:[* TO *]", test: () => true },
    { text: "Day:2024-01-10", test: (row) => row.Day === "2024-01-10" },
    { text: "Day:>2024-02-10", test: (row) => row.Day > "2024-02-10" },
    { text: "Day:[2024-01-10 TO 2024-01-12]", test: (row) => row.Day >= "2024-01-10" && row.Day <= "2024-01-12" },
    { text: "Day:2024-02", test: (row) => row.Day.startsWith("2024-02") },
    { text: "Time:2024-01-01", test: (row) => row.Time.startsWith("2024-01-01") },
    { text: 'Time:>="2024-01-02T10:00:00Z"', test: (row) => ms(row) >= Date.UTC(2024, 0, 2, 10) },
    { text: "Time:<2024-01-01T12:30:00+02:00", test: (row) => ms(row) < Date.UTC(2024, 0, 1, 10, 30) },
    {
      text: "Time:{2024-01-01T03:00 TO 2024-01-01T05:00}",
      test: (row) => ms(row) >= Date.UTC(2024, 0, 1, 3, 1) && ms(row) < Date.UTC(2024, 0, 1, 5),
    },
    { text: 'Attrs.service.name:"api"', test: (row) => attr(row, "service.name") === "api" },
    { text: "Attrs['a b']:>5", test: (row) => attr(row, "a b") !== "" && Number(attr(row, "a b")) > 5 },
    {
      text: 'Attrs["a b"]:[3 TO 7}',
      test: (row) => attr(row, "a b") !== "" && Number(attr(row, "a b")) >= 3 && Number(attr(row, "a b")) < 7,
    },
    { text: "Attrs.service.name:w", test: (row) => has(attr(row, "service.name"), "w") },
    { text: "Attrs.service.name:*", test: (row) => attr(row, "service.name") !== "" },
    { text: "Attrs:*", test: (row) => Object.keys(row.Attrs).length > 0 },
    { text: "Tags:x", test: (row) => row.Tags.some((tag) => has(tag, "x")) },
    { text: 'Tags:"yy"', test: (row) => row.Tags.includes("yy") },
    { text: "Tags:z*", test: (row) => row.Tags.some((tag) => lower(tag).startsWith("z")) },
    { text: "Tags:*", test: (row) => row.Tags.length > 0 },
    { text: "Nums:>5", test: (row) => row.Nums.some((n) => n > 5) },
    { text: "Nums:1", test: (row) => row.Nums.includes(1) },
    { text: "Nums[1]:5", test: (row) => row.Nums[0] === 5 },
    { text: "J.a.b:s", test: (row) => has(jsonText(row) ?? "", "s") },
    { text: 'J.a.b:"S2"', test: (row) => jsonText(row) === "S2" },
    { text: "J.a.b:>4", test: (row) => Number(jsonText(row) ?? "x") > 4 },
    { text: "J.a.b:*", test: (row) => jsonText(row) !== undefined },
    { text: "Raw.k.s:on", test: (row) => has(rawOf(row, "s") ?? "", "on") },
    { text: "Raw.k.n:>=2", test: (row) => Number(rawOf(row, "n") ?? "x") >= 2 },
  ),
  fc.tuple(fc.constantFrom(">", ">=", "<", "<="), fc.integer({ min: -6, max: 18 })).map(([operator, n]) => ({
    text: `N:${operator}${n}`,
    test: ({ N }: Row) => {
      if (N === null) return false;
      return operator === ">" ? N > n : operator === ">=" ? N >= n : operator === "<" ? N < n : N <= n;
    },
  })),
  fc.integer({ min: -6, max: 18 }).map((n) => ({ text: `N:${n}`, test: ({ N }: Row) => N === n })),
  fc
    .tuple(fc.integer({ min: -6, max: 8 }), fc.integer({ min: 0, max: 12 }), fc.boolean(), fc.boolean())
    .map(([low, high, openLow, openHigh]) => ({
      text: `N:${openLow ? "{" : "["}${low} TO ${high}${openHigh ? "}" : "]"}`,
      test: ({ N }: Row) => N !== null && (openLow ? N > low : N >= low) && (openHigh ? N < high : N <= high),
    })),
);

const filter: fc.Arbitrary<Case> = fc.letrec<{ filter: Case }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.tuple(tie("filter"), tie("filter"), fc.constantFrom(" AND ", " ", " && ")).map(([a, b, and]) => ({
      text: `(${a.text})${and}(${b.text})`,
      test: (row: Row) => a.test(row) && b.test(row),
    })),
    fc.tuple(tie("filter"), tie("filter"), fc.constantFrom(" OR ", " || ")).map(([a, b, or]) => ({
      text: `(${a.text})${or}(${b.text})`,
      test: (row: Row) => a.test(row) || b.test(row),
    })),
    fc.tuple(tie("filter"), fc.constantFrom("NOT ", "-", "!", "NOT NOT -")).map(([a, not]) => ({
      text: `${not}(${a.text})`,
      test: (row: Row) => !a.test(row),
    })),
    // Precedence without parentheses: AND binds tighter than OR, NOT tightest.
    fc.tuple(leaf, leaf, leaf, leaf).map(([a, b, c, d]) => ({
      text: `${a.text} OR NOT ${b.text} ${c.text} OR ${d.text}`,
      test: (row: Row) => a.test(row) || (!b.test(row) && c.test(row)) || d.test(row),
    })),
  ),
})).filter;

describe("filters on a real engine", () => {
  test("every kind of condition means what the predicate says, and so does its negation", async () => {
    const seen = new Map<string, Case>();
    for (const one of fc.sample(leaf, { numRuns: 1500, seed: 1 })) seen.set(one.text, one);
    expect(seen.size).toBeGreaterThan(80);
    for (const { text, test: predicate } of seen.values()) {
      expect(await select(text).then((ids) => ids.sort((a, b) => a - b)), text).toEqual(matching(predicate));
      const negated = await select(`-(${text})`);
      expect(
        negated.sort((a, b) => a - b),
        `-(${text})`,
      ).toEqual(matching((row) => !predicate(row)));
    }
  });

  test("random combinations select exactly the rows that the predicate does", async () => {
    await fc.assert(
      fc.asyncProperty(filter, async ({ text, test: predicate }) => {
        const ids = await select(text);
        expect(ids.sort((a, b) => a - b)).toEqual(matching(predicate));
      }),
      { numRuns: 150, seed: 42 },
    );
  });
});
