/** Inserts of Postgres rows into a real engine: what depends on settings, names and width instead of on types. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "../../../../harness/engine/stage.ts";
import { loadRows } from "../../../../harness/postgres/load.ts";
import type { SourceColumn } from "../declaration/durable.ts";
import { tupleOf } from "../protocol/tuple.ts";
import { type ColumnPlan, columnPlan } from "../tables/types.ts";
import { TsvRowWriter } from "./tsv-rows.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

function plan(name: string, type: string, options = { nullable: false, key: false }): ColumnPlan {
  const of = { oid: 0, name: type, kind: "base", typmod: -1, delimiter: "," } as const;
  const array = {
    ...of,
    name: `_${type.slice(0, -2)}`,
    kind: "array",
    element: { ...of, name: type.slice(0, -2) },
  } as const;
  const column: SourceColumn = {
    name,
    attnum: 1,
    typeOid: 0,
    typeName: type,
    typmod: -1,
    type: type.endsWith("[]") ? array : of,
    dimensions: 0,
    notNull: false,
    generated: false,
  };
  return columnPlan(column, options);
}

async function insert(plans: readonly ColumnPlan[], rows: readonly (string | null)[][]): Promise<void> {
  const writer = new TsvRowWriter([...plans.keys()], plans.length);
  for (const row of rows) writer.append(tupleOf(row), "");
  await loadRows(stage, "t", plans, writer.take());
}

test("a first row that repeats the names of the columns is a row", async () => {
  await insert(
    [plan("a", "text"), plan("b", "text")],
    [
      ["a", "b"],
      ["x", "y"],
    ],
  );
  expect(await stage.ok("SELECT * FROM t ORDER BY a")).toBe("a\tb\nx\ty");
  await insert(
    [plan("a", "text"), plan("b", "text")],
    [
      ["a", "b"],
      ["String", "String"],
    ],
  );
  expect(await stage.ok("SELECT count() FROM t")).toBe("2");
  // Why the setting is there: without it the engine swallows the row. Once this fails the setting can go.
  await stage.ok("CREATE OR REPLACE TABLE h (a String, b String) ENGINE = MergeTree ORDER BY a");
  await stage.ok("INSERT INTO h FORMAT TabSeparated\na\tb\nx\ty\n");
  expect(await stage.ok("SELECT * FROM h")).toBe("x\ty");
});

test("names of columns do not meet the names within conversions, and may contain anything", async () => {
  const names = ["t", "p", "y", "e", "v", "it's", "a`b", "back\\slash", "spa ce", "ünï", "x.y", "CAST", "{z:String}"];
  const plans = names.flatMap((name) => [
    plan(name, "timestamptz", { nullable: true, key: true }),
    plan(`${name}2`, "text[]"),
    plan(`${name}3`, "date", { nullable: true, key: false }),
    plan(`${name}4`, "timestamp[]", { nullable: true, key: false }),
  ]);
  const row = ["2024-02-29 01:02:03+00", '{a,"b,c",NULL}', "12345-01-01", '{"2024-02-29 00:00:00",NULL,infinity}'];
  await insert(plans, [names.flatMap(() => row), plans.map(() => null)]);
  const lines = (await stage.ok("SELECT * FROM t")).split("\n").map((line) => line.split("\t"));
  const max = "9999-12-31 23:59:59.999999";
  const wanted = ["2024-02-29 01:02:03.000000", "['a','b,c','']", "2299-12-31"];
  expect(lines[0]).toEqual(names.flatMap(() => [...wanted, `['2024-02-29 00:00:00.000000',NULL,'${max}']`]));
  expect(lines[1]).toEqual(names.flatMap(() => ["1970-01-01 00:00:00.000000", "[]", "\\N", "[]"]));
});

test("a statement longer than the engine takes by default: 600 columns with names of 63 bytes", async () => {
  const plans = Array.from({ length: 600 }, (_, index) =>
    plan(`${"n".repeat(59)}${String(index).padStart(4, "0")}`, index % 2 === 0 ? "timestamptz" : "date"),
  );
  await insert(plans, [plans.map((_, index) => (index % 2 === 0 ? "2024-01-01 00:00:00+00" : "2024-01-01"))]);
  expect(await stage.ok("SELECT count() FROM t")).toBe("1");
});

test("what Postgres cannot have printed is an error, not another value", async () => {
  const cases = [
    ["int4", "1.5"],
    ["int4", "x"],
    ["float8", "abc"],
    ["bool", "maybe"],
    ["uuid", "a0eebc99"],
    ["timestamp", "2024-01-01 00:00:00 and more"],
    // A session in another time zone.
    ["timestamptz", "2024-01-01 00:00:00+05"],
    ["date", "2024-01"],
    ["int4[]", "{1,x}"],
    ["timestamp[]", '{"2024-01-01 00:00:00x"}'],
  ] as const;
  const taken: string[] = [];
  const modes = [
    { nullable: true, key: false },
    { nullable: false, key: false },
    { nullable: false, key: true },
  ];
  for (const [type, text, options] of cases.flatMap(([type, text]) =>
    modes.map((mode) => [type, text, mode] as const),
  )) {
    if (type.endsWith("[]") && options.key) continue;
    const done = await insert([plan("v", type, options)], [[text]]).then(
      () => true,
      () => false,
    );
    if (done) taken.push(`${type} ${text} ${JSON.stringify(options)} as ${await stage.ok("SELECT v FROM t")}`);
  }
  expect(taken).toEqual([]);
});
