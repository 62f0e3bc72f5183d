/**
 * Definitions that an engine takes and may not be able to load again: they name what is dropped afterwards, what is not
 * there yet when they are loaded, or one another. Written by the internal user, whom no guard and no grant bounds.
 */
import { Dice } from "../random.ts";

/** Names that are hard for whoever reads messages and files. */
const oddNames = [
  "t",
  "t.t",
  "a b",
  "it's",
  "x' failed: y",
  "p%41",
  "ä",
  "load table default.kept",
  "l\nm",
  "q`r",
  ".",
];

const objects = [
  "CREATE TABLE default.gone (a String, b UInt64) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE default.gone_set (a String) ENGINE = Set",
  "CREATE TABLE default.gone_join (a String, b UInt64) ENGINE = Join(ANY, LEFT, a)",
  "CREATE FUNCTION gone_function AS (x) -> x + 1",
  `CREATE DICTIONARY default.gone_dictionary (a UInt64, b UInt64) PRIMARY KEY a
    SOURCE(CLICKHOUSE(TABLE 'gone' DB 'default')) LAYOUT(FLAT()) LIFETIME(0)`,
];

const drops = [
  "DROP TABLE IF EXISTS default.gone_dictionary SYNC",
  ...["gone", "gone_set", "gone_join"].map((name) => `DROP TABLE IF EXISTS default.${name}`),
  "DROP FUNCTION IF EXISTS gone_function",
];

const conditions = [
  "a IN (SELECT 'x')",
  "a IN (SELECT name FROM system.tables)",
  "a IN (SELECT a FROM default.gone)",
  "a IN default.gone_set",
  "b = joinGet('default.gone_join', 'b', a)",
  "b = dictGet('default.gone_dictionary', 'b', b)",
  "gone_function(b) > 1",
  "b IN (SELECT count() FROM default.kept)",
  "hasColumnInTable('default', 'gone', 'a')",
  "length(currentDatabase()) > 1",
];

export type Definitions = {
  /** In this order; whether one of them is refused does not matter. */
  readonly statements: readonly string[];
  /** Run at last: what the definitions need goes away. */
  readonly drops: readonly string[];
};

export function hostileDefinitions(seed: number, count: number): Definitions {
  const dice = new Dice(seed);
  const named = (index: number) => {
    const name = `${dice.pick(oddNames)}${index}`;
    return `${dice.pick(["default", "`odd.data base`"])}.\`${name.replaceAll(/[`\\]/g, "\\$&")}\``;
  };
  const made: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = named(index);
    made.push(definition(dice, name, made));
  }
  return {
    statements: ["CREATE DATABASE IF NOT EXISTS `odd.data base`", ...objects, ...made],
    drops: drops.filter(() => dice.chance(0.8)),
  };
}

function definition(dice: Dice, name: string, before: readonly string[]): string {
  const condition = dice.pick(conditions);
  const columns = "a String, b UInt64, d DateTime DEFAULT now()";
  const other = /CREATE \w+(?: VIEW)? (\S+\.`(?:[^`\\]|\\.)*`)/.exec(before.at(-1) ?? "")?.[1] ?? "default.gone";
  const tree = (more: string, order = "a") =>
    `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY ${order} ${more}`;
  const shapes: readonly (() => string)[] = [
    () => tree(`TTL d + INTERVAL 1 DAY DELETE WHERE ${condition}`),
    () => tree(`TTL d + INTERVAL 1 DAY GROUP BY a SET b = max(${condition})`),
    () => tree("", `(a, ${condition})`),
    () => tree(`PARTITION BY ${condition}`),
    () => tree(`SAMPLE BY ${condition}`, `(a, ${condition})`),
    () => `CREATE TABLE ${name} (${columns}, e UInt8 DEFAULT ${condition}) ENGINE = MergeTree ORDER BY a`,
    () => `CREATE TABLE ${name} (${columns}, e UInt8 MATERIALIZED ${condition}) ENGINE = Log`,
    () => `CREATE TABLE ${name} (${columns}, e UInt8 ALIAS ${condition}) ENGINE = TinyLog`,
    () => `CREATE TABLE ${name} (${columns}, CONSTRAINT c CHECK ${condition}) ENGINE = MergeTree ORDER BY a`,
    () => `CREATE TABLE ${name} (${columns}, CONSTRAINT c ASSUME ${condition}) ENGINE = MergeTree ORDER BY a`,
    () => `CREATE TABLE ${name} (${columns}, INDEX i ${condition} TYPE minmax) ENGINE = MergeTree ORDER BY a`,
    () =>
      `CREATE TABLE ${name} (${columns}, PROJECTION p (SELECT a, ${condition} ORDER BY a)) ENGINE = MergeTree ORDER BY a`,
    () => `CREATE VIEW ${name} AS SELECT * FROM ${other} WHERE ${condition}`,
    () =>
      `CREATE MATERIALIZED VIEW ${name} ENGINE = MergeTree ORDER BY a AS SELECT a, b FROM default.gone WHERE ${condition}`,
    () => `CREATE MATERIALIZED VIEW ${name} TO ${other} AS SELECT a, b FROM default.gone`,
    () =>
      `CREATE MATERIALIZED VIEW ${name} REFRESH EVERY 1 SECOND ENGINE = Memory AS SELECT a FROM default.gone WHERE ${condition}`,
    () => `CREATE TABLE ${name} AS default.gone ENGINE = Buffer(default, gone, 1, 1, 1, 1, 1, 1, 1)`,
    () => `CREATE TABLE ${name} AS default.gone ENGINE = Merge(REGEXP('.*'), '.*')`,
    () => `CREATE TABLE ${name} ENGINE = Alias('default', 'gone')`,
    () => `CREATE TABLE ${name} (${columns}) ENGINE = Join(ANY, LEFT, a)`,
    () => `CREATE DICTIONARY ${name} (a UInt64, b UInt64) PRIMARY KEY a
      SOURCE(CLICKHOUSE(QUERY 'SELECT b AS a, b FROM default.gone')) LAYOUT(FLAT()) LIFETIME(MIN 0 MAX 1)`,
    () => `CREATE TABLE ${name} (${columns}) ENGINE = Null`,
    () =>
      `CREATE TABLE ${name} (a String TTL d + INTERVAL 1 DAY, d DateTime, b UInt64) ENGINE = ReplacingMergeTree(b) ORDER BY ${"b"}`,
  ];
  return dice.pick(shapes)();
}
