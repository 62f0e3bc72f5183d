/**
 * Statements that no client may run, one random example at a time: code that reaches files, programs, servers, or other
 * rules.
 */
import type { Dice } from "../random.ts";
import { literal, name } from "./spelling.ts";

/** The canaries that no statement may reach. */
export type Canaries = {
  /** A file that nobody may read. */
  readonly file: string;
  /** A path that nobody may write. */
  readonly loot: string;
  /** URL of a listener that nobody may contact. */
  readonly url: string;
};

/** Values for the parameters that the forbidden fragments name. */
export function badParameters(dice: Dice, canaries: Canaries): Record<string, string> {
  return {
    w: dice.pick(["NOSIGN", "Values", "CSV"]),
    f: dice.pick(["file", "f\\x69le", "f\\Nile"]),
    s: dice.chance(0.5) ? badStructure(dice, canaries) : `a String, b String DEFAULT f\\x69le('${canaries.file}')`,
  };
}

export function badTableFunction(dice: Dice, canaries: Canaries): string {
  const file = literal(dice, canaries.file);
  const bad = literal(dice, badStructure(dice, canaries));
  return dice.pick([
    `file(${file}, 'CSV', 'a String')`,
    `${name(dice, "file")}(${file})`,
    `url(${literal(dice, canaries.url)}, 'CSV', 'a String')`,
    `executable(${literal(dice, "id")}, 'CSV', 'a String')`,
    "remote('127.0.0.1:9000', system.one)",
    `sqlite(${file}, 't')`,
    `eval(${literal(dice, "SELECT file('x')")})`,
    `icebergLocal(${file})`,
    `format(JSONEachRow, ${bad}, '{"a":"1"}')`,
    'format(JSONEachRow, {s:String}, \'{"a":"1"}\')',
    "format(JSONEachRow, concat('a String, b String DEFAULT fi', 'le(''x'')'), '{\"a\":\"1\"}')",
    `format(Values, 'a String', ${literal(dice, `(file('${canaries.file}'))`)})`,
    `values(${bad}, ('x', 'y'))`,
    `generateRandom(${bad})`,
    `null(${bad})`,
  ]);
}

export function badStructure(dice: Dice, { file }: Canaries): string {
  const call = `file('${file}')`;
  return dice.pick([
    `a String, b String DEFAULT ${call}`,
    `a String, b String MATERIALIZED ${call}`,
    `a String, b String ALIAS ${call}`,
    `a String, b String/**/EPHEMERAL/**/${call}`,
    `a String, b String DEFAULT \`f\\x69le\`('${file}')`,
    `a String DEFAULT (SELECT ${call})`,
  ]);
}

export function badExpression(dice: Dice, canaries: Canaries): string {
  const path = literal(dice, canaries.file);
  return dice.pick([
    `file(${path})`,
    `${name(dice, "file")}${dice.pick(["", " ", "/**/"])}(${path})`,
    `arrayMap(file, [${path}])`,
    `arrayMap((${name(dice, "file")}), [${path}])`,
    `arrayMap({f:Identifier}, [${path}])`,
    `arrayMap(x -> file(x), [${path}])`,
    `if(1, file(${path}), '')`,
    `concat(${path} AS p, file(p))`,
    `catboostEvaluate(${path}, 1)`,
    "getClientHTTPHeader('X-ClickHouse-Key')",
    "aiGenerate('x', 'y')",
    `[file(${path})][1]::String`,
    `CASE file(${path}) WHEN 'x' THEN 1 END`,
    `dictGet('rx', 'v', file(${path}))`,
    "hasColumnInTable('127.0.0.1', 'u', 'p', 'd', 't', 'c')",
  ]);
}

/** What may follow APPLY; the quotes hide a call from a reader of the canonical text. */
export function badApplied(dice: Dice, canaries: Canaries): string {
  const call = `file(${literal(dice, canaries.file)}) AS f`;
  return dice.pick([
    "file",
    "(file)",
    "(x -> file(x))",
    "(file, 'x')",
    "(`file`, 'x')",
    "(file('x'), 'y')",
    `\`toString '\`, ${call}, COLUMNS('zzz') APPLY \`toString'\``,
    `\`toString, '\`, ${call}, COLUMNS(' AS y, ') APPLY \`k'\``,
    `(sum, 'k\\' y '), ${call}, COLUMNS('zzz') APPLY(sum, 'k\\' y ')`,
    countedTwice(dice, call),
  ]);
}

/** A prefix hides what another APPLY applies; subjects of BETWEEN, which are written twice, make up for its quotes. */
function countedTwice(dice: Dice, call: string): string {
  const shown = dice.pick(["APPLY max APPLY max", "sum APPLY max + sum APPLY max +", "x APPLY max APPLY max"]);
  const prefix = `'${shown} toString(\\') , c'`;
  const betweens = `${prefix} BETWEEN '' AND '', ${prefix} BETWEEN '' AND 'z'`;
  return `(toString, ${prefix}), COLUMNS('a') APPLY(x -> (${call})), COLUMNS('z') APPLY(toString, ${prefix}), ${betweens}`;
}

export function badEngine(dice: Dice): string {
  return dice.pick([
    "File(CSV)",
    "`File`(CSV)",
    "Executable('x', 'CSV')",
    "URL('http://127.0.0.1:1/', 'CSV')",
    "SQLite('x', 'y')",
    "EmbeddedRocksDB",
    "QueryRunner",
    "Distributed('a', 'b', 'c')",
  ]);
}

export function badSource(dice: Dice, { file, url }: Canaries): string {
  return dice.pick([
    "EXECUTABLE(command 'id' format 'CSV')",
    "`executable`(COMMAND 'id' FORMAT 'CSV')",
    `FILE(path ${literal(dice, file)} format 'CSV')`,
    `HTTP(url '${url}' format 'CSV')`,
    "CLICKHOUSE(HOST '127.0.0.2' TABLE 't')",
    "CLICKHOUSE(USER 'millrace-internal' TABLE 't')",
    `CLICKHOUSE(TABLE 't' WHERE ${literal(dice, `file('${file}') = ''`)})`,
    `CLICKHOUSE(QUERY ${literal(dice, `SELECT file('${file}'), 1`)})`,
  ]);
}

export function badSetting(dice: Dice, { file }: Canaries): string {
  return dice.pick([
    `format_schema = ${literal(dice, file)}`,
    "dialect = 'kusto'",
    "allow_introspection_functions = 1",
    "input_format_values_interpret_expressions = 1",
    "additional_table_filters = {'t': 'file(1) = 1'}",
    "param_f = 'file'",
    "s3_max_redirects = 10",
    "compatibility = '20.1'",
  ]);
}

export function badStatement(dice: Dice, { file }: Canaries): string {
  return dice.pick([
    `WITH ${literal(dice, `a String, b String DEFAULT file('${file}')`)} AS {w:Identifier} SELECT * FROM generateRandom(NOSIGN) LIMIT 1`,
    `CREATE VIEW pv AS WITH 'a String DEFAULT file(1)' AS {w:Identifier} SELECT * FROM null(NOSIGN)`,
    `INSERT INTO t SELECT a, '' FROM t FORMAT \`a '\` PARALLEL WITH INSERT INTO t SELECT file(${literal(dice, file)}), '' FORMAT \`b '\``,
    `INSERT INTO t FORMAT {w:Identifier}\n(file('${file}'), '')`,
    "CREATE OR REPLACE DICTIONARY rx (k String, v String) PRIMARY KEY k SOURCE(CLICKHOUSE(`DB '` 1 HOST 'TABLE' PORT 9000 `' USER` 'x')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "SET max_query_size = 30",
    "SYSTEM SHUTDOWN",
    "SYSTEM STOP LISTEN HTTP",
    "SYSTEM RELOAD CONFIG",
    "BACKUP TABLE t TO File('x')",
    "CREATE USER u",
    "GRANT ALL ON *.* TO x",
    "GRANT SELECT ON *.* TO x WITH GRANT OPTION",
    "GRANT SELECT, FILE ON *.* TO x",
    "GRANT READ ON URL TO x",
    "GRANT SELECT ON t.*, SYSTEM SHUTDOWN ON *.* TO x",
    "GRANT INSERT ON system.users TO x",
    "GRANT SET DEFINER ON `millrace-internal` TO x",
    "GRANT SELECT ON *.* TO default",
    "CREATE USER `millrace-internal` IDENTIFIED BY 'x'",
    "CREATE USER OR REPLACE default IDENTIFIED BY 'x'",
    "CREATE USER x IDENTIFIED WITH no_password",
    "CREATE USER x IDENTIFIED BY 'x' SETTINGS readonly = 0",
    "CREATE ROLE r PARALLEL WITH SYSTEM SHUTDOWN",
    "SYSTEM ENABLE FAILPOINT x",
    "CREATE NAMED COLLECTION c AS a = 'b'",
    "ALTER TABLE t FREEZE",
    "ALTER TABLE t FETCH PARTITION 1 FROM '/x'",
    "ALTER TABLE t MOVE PARTITION 1 TO DISK 'x'",
    "ATTACH TABLE t FROM '/' (a Int8) ENGINE = Memory",
    "CREATE VIEW pv AS SELECT * FROM format(JSONEachRow, {s:String}, '{}')",
    "CREATE VIEW pv SQL SECURITY NONE AS SELECT 1",
  ]);
}
