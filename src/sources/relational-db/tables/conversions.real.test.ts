/** Random values of the types whose conversion computes, compared with the source row by row. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../../harness/engine/stage.ts";
import { copyBytes } from "../../../../harness/postgres/bytes.ts";
import { loadCopy, loadRows } from "../../../../harness/postgres/load.ts";
import { postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import type { SourceTable } from "../declaration/durable.ts";
import { readTables } from "../server/catalog.ts";
import { copySelect, quoteName, sessionSql } from "../server/session.ts";
import { planTable } from "./tables.ts";
import { columnPlan } from "./types.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`random values of Postgres: skipped, ${missing}`);

const rows = 5000;
/** Seconds from the first year that Postgres has to the last that the engine's microseconds have. */
const seconds = "-210866803200 + random() * (9220000000000 + 210866803200)";
const usualSeconds = "-62135596800 + random() * 315537897599";
const anySeconds = `CASE WHEN i % 2 = 0 THEN ${seconds} ELSE ${usualSeconds} END`;
const codes = "9,10,13,8,11,12,92,34,39,44,123,125,78,85,76,76,32,97,233,128024,61,91,93";
const text = (length: number) =>
  `(SELECT coalesce(string_agg(chr((ARRAY[${codes}])[1 + floor(random() * 23)::int]), ''), '')
    FROM generate_series(1, floor(random() * ${length})::int + 0 * i))`;

const columns: readonly { name: string; type: string; value: string; source: string; engine: string }[] = [
  {
    name: "ts",
    type: "timestamp",
    value: `to_timestamp(${anySeconds}) AT TIME ZONE 'UTC'`,
    source: "(extract(epoch FROM ts) * 1000000)::numeric(30)::text",
    engine: "toString(toUnixTimestamp64Micro(ts))",
  },
  {
    name: "tz",
    type: "timestamptz",
    value: `to_timestamp(${anySeconds})`,
    source: "(extract(epoch FROM tz) * 1000000)::numeric(30)::text",
    engine: "toString(toUnixTimestamp64Micro(tz))",
  },
  {
    name: "d",
    type: "date",
    value:
      "date '1970-01-01' + (-2440588 + floor(random() * 2147400000))::int % CASE WHEN i % 2 = 0 THEN 2000000000 ELSE 100000 END",
    source: "(d - date '1970-01-01')::text",
    engine: "toString(toInt32(d))",
  },
  {
    name: "f8",
    type: "float8",
    value: "(random() - 0.5) * power(10::float8, random() * 600 - 300)",
    source: "encode(float8send(f8), 'hex')",
    engine: "leftPad(lower(hex(reinterpretAsUInt64(f8))), 16, '0')",
  },
  {
    name: "f4",
    type: "real",
    value: "(random() - 0.5) * power(10::float8, random() * 70 - 35)",
    source: "encode(float4send(f4), 'hex')",
    engine: "leftPad(lower(hex(reinterpretAsUInt32(f4))), 8, '0')",
  },
  {
    name: "n",
    type: "numeric(38, 10)",
    value: "((random() - 0.5) * power(10::float8, random() * 28))::numeric(38, 10) + i * 0.0000000001",
    source: "trim_scale(n)::text",
    engine: "toString(n)",
  },
  { name: "t", type: "text", value: text(30), source: "encode(convert_to(t, 'UTF8'), 'hex')", engine: "lower(hex(t))" },
  {
    name: "ta",
    type: "text[]",
    value: `ARRAY[${text(6)}, ${text(3)}, CASE WHEN random() < 0.3 THEN NULL ELSE ${text(4)} END, ${text(9)}]`,
    source: "(SELECT string_agg(coalesce(encode(convert_to(e, 'UTF8'), 'hex'), 'null'), ',') FROM unnest(ta) AS e)",
    engine: "arrayStringConcat(arrayMap(e -> ifNull(lower(hex(e)), 'null'), ta), ',')",
  },
  {
    name: "b",
    type: "bytea",
    value: "decode(repeat(md5(i::text), i % 7) || md5(random()::text), 'hex')",
    source: "encode(b, 'hex')",
    engine: "lower(hex(b))",
  },
];

describe.skipIf(missing !== undefined)("random values", () => {
  let server: TestPostgres;
  let stage: Stage;
  beforeAll(async () => {
    [server, stage] = await Promise.all([TestPostgres.start(), Stage.open()]);
  });
  afterAll(async () => {
    await stage?.close();
    await server?.[Symbol.asyncDispose]();
  });

  test("every value is the source's, exact times as in keys", async () => {
    await using client = await server.client();
    await client.query(sessionSql);
    await client.query(
      `CREATE TABLE public.r (id int PRIMARY KEY, ${columns.map(({ name, type }) => `${name} ${type}`)})`,
    );
    await client.query("SELECT setseed(0.42)");
    await client.query(
      `INSERT INTO public.r SELECT i, ${columns.map(({ value }) => value)} FROM generate_series(1, ${rows}) AS i`,
    );
    const [table] = (await readTables(client, [{ schema: "public", name: "r" }])) as [SourceTable];
    const exact = ["id", "ts", "tz", "d"];
    const plans = table.columns.map((each) => columnPlan(each, { nullable: true, key: exact.includes(each.name) }));
    const names = table.columns.map(({ name }) => name);
    await loadRows(stage, "r", plans, Buffer.concat(await copyBytes(client, copySelect(table, names.map(quoteName)))));
    const wanted = await client.query({
      text: `SELECT id::text, ${columns.map(({ source }) => source)} FROM public.r ORDER BY r.id`,
      rowMode: "array",
    });
    const stored = await stage.ok(
      `SELECT toString(id), ${columns.map(({ engine }) => engine)} FROM r ORDER BY r.id FORMAT JSONCompactEachRow`,
    );
    const storedRows = stored.split("\n").map((line) => JSON.parse(line) as string[]);
    expect(storedRows.length).toBe(rows);
    const wrong = storedRows.flatMap((row, index) => {
      const source = wanted.rows[index] as string[];
      return row.flatMap((value, at) => (value === source[at] ? [] : [[names[at], source[at], value]]));
    });
    expect(wrong.slice(0, 10)).toEqual([]);
  });

  test("a copy stores what the stream stores", async () => {
    await using client = await server.client();
    await client.query(sessionSql);
    const mapping = { sourceSchemaName: "public", sourceTable: "r", targetTable: "c" };
    const [table] = (await readTables(client, [{ schema: "public", name: "r" }])) as [SourceTable];
    const select = copySelect(
      table,
      table.columns.map(({ name }) => quoteName(name)),
    );
    const bytes = Buffer.concat(await copyBytes(client, select));
    for (const nullable of [true, false]) {
      const plan = planTable(table, mapping, "default", { nullable, hardDelete: false });
      await loadRows(stage, "s", plan.columns, bytes);
      await loadCopy(stage, client, plan, "c");
      const list = columns.map(({ engine }) => engine);
      const sum = (from: string) => stage.ok(`SELECT count(), sum(cityHash64(id, ${list})) FROM ${from}`);
      expect(await sum("c")).toBe(await sum("s"));
    }
  });
});
