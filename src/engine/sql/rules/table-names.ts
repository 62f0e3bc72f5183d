/**
 * Names of tables that the engine would take for files. It is built from a local tool: in the database `default`, a
 * name that no table has is the path of a file, and some functions and engines open it without asking for a grant. The
 * engine's working folder is empty, so only a path that leaves it names a file.
 */

import { isFilePath, ownDatabases } from "../../../clickhouse/names.ts";
import { hiddenRows } from "../../chdb/users.ts";
import { functions, tableFunctions } from "../lists/lists.ts";
import { argumentRanges, isCall, isKeyword, isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";
import { refuse } from "./refusal.ts";
import { definedNames } from "./table-function.ts";

type Tokens = readonly SqlToken[];

/** Throws for a text that the engine would use as such a name. */
export function refuseFilePath(name: string): void {
  if (isFilePath(name)) refuse(`The name of a table cannot be the path of a file: ${name.slice(0, 100)}.`);
}

/** Functions whose leading arguments name a table; without `hasColumnInTable`, the first one. */
const tableFunctionsOfExpressions = new Set(["joinget", "joingetornull", "hascolumnintable"]);

/** Engines whose first two arguments name a database and a table. */
const referringEngines = new Set(["buffer", "alias", "dictionary", "loop"]);

/** True when an argument of this function names a table or a dictionary. */
export function namesTable(name: string): boolean {
  const folded = name.toLowerCase();
  // Its arguments are patterns, which match names of existing tables only.
  if (folded === "merge") return false;
  return (
    functions.dictionary.has(folded) ||
    tableFunctionsOfExpressions.has(folded) ||
    tableFunctions.thisService.has(folded) ||
    folded === "loop"
  );
}

/** Keeps the quoted names of the statement that are paths, unless each can only name a column. */
export function collectFilePaths(tokens: Tokens, facts: Facts): void {
  const mayRename = (facts.kind === "read" || facts.kind === "insert") && !isKeyword(tokens[0], "EXPLAIN");
  for (const [at, token] of tokens.entries()) {
    if (token.kind === "parameter" && token.type === "Identifier") facts.nameParameters.add(token.value);
    if (token.kind !== "quoted" || !isFilePath(token.value)) continue;
    const isColumn = mayRename && (isKeyword(tokens[at - 1], "AS") || isInColumnList(tokens, at));
    if (!isColumn) facts.filePath ??= token.value;
  }
}

/** Between such a word and the end of its clause, a name may be a table. */
const leadsToTable = new Set(["FROM", "JOIN", "IN", "INTO", "TABLE", "USING", "WITH"]);

/** The search for the beginning of a clause ends here, so that many names cost no quadratic time. */
const maxClauseTokens = 1_000;

/**
 * True for a name in the list of the outermost SELECT, or after ORDER BY and GROUP BY, outside of parentheses. Other
 * words do not count as such a clause: the formatter writes a table named SELECT or BY without quotes.
 */
function isInColumnList(tokens: Tokens, name: number): boolean {
  // `a.*` may look for a table.
  if (isMark(tokens[name + 1], ".") || isMark(tokens[name + 1], "(")) return false;
  let depth = 0;
  for (let at = name - 1; at >= Math.max(0, name - maxClauseTokens); at -= 1) {
    const token = tokens[at] as SqlToken;
    if (token.kind === "mark" && /^[)\]}]$/.test(token.value)) depth += 1;
    else if (token.kind === "mark" && /^[([{]$/.test(token.value)) depth -= 1;
    if (depth < 0) return false;
    if (depth > 0 || token.kind !== "word") continue;
    if (leadsToTable.has(token.value)) return false;
    if (token.value === "BY" && (isKeyword(tokens[at - 1], "ORDER") || isKeyword(tokens[at - 1], "GROUP"))) return true;
    if (token.value === "SELECT" && at === 0) return true;
  }
  return false;
}

/** Throws when an argument of the function at `at` that names a table is computed, or the path of a file. */
export function judgeTableNames(tokens: Tokens, pairs: Int32Array, at: number, facts: Facts): void {
  const name = (tokens[at] as SqlToken).value;
  const folded = name.toLowerCase();
  const ranges = argumentRanges(tokens, pairs, at + 1);
  if (functions.dictionary.has(folded)) judgeDictionaryName(tokens, ranges, name, facts);
  else for (const range of ranges.slice(0, countOfNames(folded, ranges.length))) judgeName(tokens, range, name, facts);
}

/** Throws when the engine at `at` refers to a table by a name that is computed, or the path of a file. */
export function judgeReferredTable(tokens: Tokens, pairs: Int32Array, at: number, facts: Facts): void {
  const { value } = tokens[at] as SqlToken;
  if (!referringEngines.has(value.toLowerCase()) || !isCall(tokens, at)) return;
  refuseOwnTable(tokens, argumentRanges(tokens, pairs, at + 1), value);
  for (const [from, to] of argumentRanges(tokens, pairs, at + 1).slice(0, 2)) {
    // A name stands for itself here, also one that the statement defines.
    if (to - from > 1 || !isName(tokens[from])) judgeName(tokens, [from, to], value, facts);
  }
}

/** Tables of `system` that show each user other rows. */
const filteredTables = new Set(Object.keys(hiddenRows));

/** The engine checks rights for the table that refers to another, not which rows of the other one a user may see. */
function refuseOwnTable(tokens: Tokens, ranges: readonly [number, number][], engine: string): void {
  const named = ranges.slice(0, 2).map(([from, to]) => {
    const token = tokens[from];
    // `system.processes` is a single argument, too.
    const isWhole = to - from === 1 || isMark(tokens[from + 1], ".");
    return isWhole && (token?.kind === "string" || isName(token)) ? token.value : "";
  });
  if (named.some((name) => ownDatabases.includes(name.toLowerCase().split(".")[0] ?? ""))) {
    refuse(`A table of the engine ${engine} cannot show tables of the engine's own databases.`);
  }
  // In a session whose database is `system`.
  const isImplicit = ranges.length < 2 || named[0] === "";
  const table = ranges.length < 2 ? named[0] : named[1];
  if (isImplicit && filteredTables.has(table ?? "")) refuse(`Name the database of ${table} in the engine ${engine}.`);
}

function countOfNames(folded: string, given: number): number {
  if (folded === "hascolumnintable") return given - 1;
  return folded.startsWith("joinget") ? 1 : 2;
}

/** The engine refuses a column in place of the name for these, and reads one as a text for their relatives. */
const takesNoColumn = new Set(["dictGet", "dictGetOrDefault", "dictGetOrNull"]);

/**
 * The engine opens the file without a grant. A bare name may be a column with any text, for those functions that take
 * columns. The body of a function of the user is read where it is called, whose aliases count.
 */
function judgeDictionaryName(tokens: Tokens, ranges: readonly [number, number][], name: string, facts: Facts): void {
  const [from, to] = ranges[0] ?? [0, 0];
  const token = tokens[from];
  if (to - from === 1 && token?.kind === "string") refuseFilePath(token.value);
  else if (to - from === 1 && token?.kind === "parameter") facts.tableParameters.add(token.value);
  else if (isPlainName(tokens, from, to)) {
    const isQuery = facts.kind === "read" || facts.kind === "insert";
    if (isQuery && takesNoColumn.has(name)) facts.queriedDictionary ??= name;
    else facts.bareDictionary ??= name;
  } else refuse(`The name of the dictionary in ${name} must be a text in quotes.`);
}

function judgeName(tokens: Tokens, [from, to]: readonly [number, number], name: string, facts: Facts): void {
  // `loop` takes another table function, which is judged as such.
  if (isCall(tokens, from) && name.toLowerCase() === "loop") return;
  const start = isName(tokens[from]) && isMark(tokens[from + 1], "=") ? from + 2 : from;
  const token = tokens[start];
  if (to - start === 1 && token?.kind === "string") refuseFilePath(token.value);
  else if (to - start === 1 && token?.kind === "parameter") facts.tableParameters.add(token.value);
  else if ((to - start === 1 && token?.kind === "number") || isCurrentDatabase(tokens, start, to)) return;
  else if (!isPlainName(tokens, start, to))
    refuse(`The name of the table in ${name} must be a text in quotes or a name.`);
}

/** True for `currentDatabase()`. */
export function isCurrentDatabase(tokens: Tokens, from: number, to: number): boolean {
  return to - from === 3 && isCall(tokens, from) && /^(?:currentDatabase|database)$/i.test(tokens[from]?.value ?? "");
}

/**
 * `a` or `a.b`, when the statement defines neither: then it may stand for a computed text, `a.b` also for an element of
 * the tuple `a`.
 */
function isPlainName(tokens: Tokens, from: number, to: number): boolean {
  const [first, dot, second] = tokens.slice(from, to);
  const shaped = to - from === 1 || (to - from === 3 && isMark(dot, ".") && isName(second));
  const names = to - from === 1 ? [first] : [first, second];
  return shaped && names.every((name) => isName(name) && !definedNames(tokens).has(name.value));
}
