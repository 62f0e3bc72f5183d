/**
 * The lists against the installed engine. A name of the engine that is on no list is refused at run time; this test
 * reports such names, so that a new version of the engine is reviewed before use.
 */
import { createReadStream } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BareEngine } from "../../../../harness/engine/bare-engine.ts";
import { engineLibrary } from "../../chdb/library.ts";
import { definitionNames, functions, namesBelow, readSections, settingNames, tableFunctions } from "./lists.ts";

let engine: BareEngine;
beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(async () => await engine[Symbol.asyncDispose]());

const sections = readSections("names.txt");
const settingSections = readSections("settings.txt");
const functionSections = readSections("functions.txt");

async function names(sql: string): Promise<string[]> {
  const rows = await engine.client.rows<{ name: string }>(sql);
  return rows.map(({ name }) => name);
}

/** Names that are on one side only. */
function difference(ours: Iterable<string>, theirs: Iterable<string>) {
  const mine = new Set(ours);
  const engines = new Set(theirs);
  return {
    new: [...engines].filter((name) => !mine.has(name)),
    gone: [...mine].filter((name) => !engines.has(name)),
  };
}

const same = { new: [], gone: [] };

describe("every name of the engine is on a list, and no other", () => {
  test("functions", async () => {
    const listed = [...functionSections]
      .filter(([title]) => !/parser only|hidden/.test(title))
      .flatMap(([, list]) => list);
    expect(difference(listed, await names("SELECT name FROM system.functions WHERE origin = 'System'"))).toEqual(same);
  });
  test.each([
    ["table functions", "SELECT name FROM system.table_functions"],
    ["table engines", "SELECT name FROM system.table_engines"],
    ["database engines", "SELECT name FROM system.database_engines"],
    ["dictionary sources", "SELECT name FROM system.dictionary_sources"],
    ["dictionary layouts", "SELECT name FROM system.dictionary_layouts"],
    ["input formats", "SELECT name FROM system.formats WHERE is_input"],
    ["types", "SELECT name FROM system.data_type_families WHERE position(name, ' ') = 0"],
    ["codecs", "SELECT name FROM system.codecs"],
    ["index types", "SELECT name FROM system.data_skipping_index_types"],
    ["tokenizers", "SELECT name FROM system.tokenizers"],
  ])("%s", async (title, sql) => {
    expect(difference(namesBelow(sections, title), await names(sql))).toEqual(same);
  });
  test("settings of queries", async () => {
    const refused = [...settingSections]
      .filter(([title]) => title.startsWith("refused") && !/disk|coordination/.test(title))
      .flatMap(([, list]) => list.map((entry) => entry.replace(/=.*/, "")));
    const listed = [...namesBelow(settingSections, "allowed: queries"), ...settingNames.judged, ...refused];
    expect(difference(listed, await names("SELECT name FROM system.settings"))).toEqual(same);
  });
  test("settings of tables of the MergeTree family", async () => {
    const listed = new Set([...settingSections.values()].flat().map((entry) => entry.replace(/=.*/, "")));
    const theirs = await names("SELECT name FROM system.merge_tree_settings");
    expect(theirs.filter((name) => !listed.has(name))).toEqual([]);
  });
  test("classes of nodes in the tree, in the engine library", async () => {
    const found = new Set<string>();
    let rest = "";
    for await (const chunk of createReadStream(engineLibrary(), { encoding: "latin1", highWaterMark: 8_388_608 })) {
      const text = rest + chunk;
      // Names of types as C++ writes them: the namespace DB, a length, a name.
      for (const [, name] of text.matchAll(/N2DB[0-9]+AST([A-Za-z]+?)(?:11Replacement)?E(?=\0)/g))
        found.add(name as string);
      rest = text.slice(-200);
    }
    expect(found.size).toBeGreaterThan(100);
    expect(difference(namesBelow(readSections("nodes.txt"), "classes"), found)).toEqual(same);
  });
  test("combinators of aggregate functions", async () => {
    expect((await names("SELECT name FROM system.aggregate_function_combinators")).sort()).toEqual(
      "ArgMax ArgMin Array Distinct ForEach If Map Merge Null OrDefault OrNull Resample SimpleState State Tuple".split(
        " ",
      ),
    );
  });
});

describe("what the rules take for granted", () => {
  const both = (a: ReadonlySet<string>, b: ReadonlySet<string>) => [...a].filter((name) => b.has(name));

  test("no refused name is spelled like an allowed one", () => {
    expect(both(functions.allowed, functions.refused)).toEqual([]);
    expect(both(functions.allowed, tableFunctions.refused)).toEqual([]);
    expect(both(tableFunctions.allowed, functions.refused)).toEqual([]);
    expect(both(tableFunctions.allowed, tableFunctions.refused)).toEqual([]);
    expect(both(definitionNames, functions.refused)).toEqual([]);
    expect(both(definitionNames, tableFunctions.refused)).toEqual([]);
  });

  test("functions and table functions share these names only", async () => {
    const shared =
      "SELECT name FROM system.functions WHERE name IN (SELECT name FROM system.table_functions) ORDER BY name";
    expect(await names(shared)).toEqual(["file", "format", "fuzzQuery"]);
  });

  test("lambdas are taken by functions of arrays and maps only", async () => {
    const scalar =
      "SELECT name FROM system.functions WHERE origin = 'System' AND NOT is_aggregate AND name NOT IN ('sleep')";
    const others = (await names(scalar)).filter((name) => !/^(array|map|_)/i.test(name));
    const calls = ["x -> x, [1]", "x -> x, map(1, 2)", "(x, y) -> x, map(1, 2)", "(a, x) -> a, [1], 1", "x -> x"];
    const taken: string[] = [];
    for (const name of others) {
      for (const call of calls) {
        const answer = await engine.client
          .text(`SELECT ${name}(${call})`, { settings: { log_queries: 0 } })
          .catch(() => undefined);
        if (answer !== undefined) taken.push(`${name}(${call})`);
      }
    }
    expect(taken).toEqual([]);
  });

  test("a setting that is refused has the value that the list says, for clients", async () => {
    const rows = await engine.client.rows<{ name: string; value: string }>("SELECT name, value FROM system.settings", {
      headers: { "X-ClickHouse-User": "default" },
    });
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    const wrong = [...settingNames.refused]
      .filter((entry) => entry.includes("="))
      .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)] as const)
      .filter(([name, value]) => values.get(name) !== value)
      .map(([name, value]) => `${name} is ${values.get(name)}, not ${value}`);
    expect(wrong).toEqual([]);
  });

  test("a setting with a bound is on the list of those that cannot be set to DEFAULT", async () => {
    const bounded = await engine.client.rows<{ name: string }>(
      "SELECT name FROM system.settings WHERE min IS NOT NULL OR max IS NOT NULL OR name = 'readonly'",
      { headers: { "X-ClickHouse-User": "default" } },
    );
    expect(bounded.map(({ name }) => name).sort()).toEqual([...settingNames.bounded].sort());
  });

  test("the engine itself runs no statement that nobody wrote", async () => {
    const fuzzed = engine.clientOf("default").text("SELECT 1 SETTINGS ast_fuzzer_runs = 1");
    await expect(fuzzed).rejects.toThrow(/ast_fuzzer_runs should not be changed/);
  });
});
