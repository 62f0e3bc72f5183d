/** Judges every name in function position, and every argument that may name a function. */

import { definitionNames, functions, tableFunctions } from "../lists/lists.ts";
import { argumentRanges, isCall, isKeyword, isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";
import { refuse, unknownFunction } from "./refusal.ts";
import { isStructured, judgeTableFunction } from "./table-function.ts";
import { judgeTableNames, namesTable } from "./table-names.ts";

type Tokens = readonly SqlToken[];

/**
 * Throws for a call of a name on no list. `skipped` are indices that another rule has judged: names of engines and of
 * dictionary sources.
 */
export function judgeCalls(tokens: Tokens, pairs: Int32Array, facts: Facts, skipped: ReadonlySet<number>): void {
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as SqlToken;
    if (token.kind !== "word" && token.kind !== "quoted") continue;
    if (isKeyword(token, "APPLY")) judgeApplied(tokens, pairs, at, facts);
    if (!isCall(tokens, at) || skipped.has(at) || isColumnList(tokens, pairs, at)) continue;
    judgeName(token.value, facts);
    if (isStructured(tokens, at)) judgeTableFunction(tokens, pairs, at, facts);
    // `SELECT * FROM (EXPLAIN ...)`.
    if (token.value === "viewExplain") facts.showsColumns = "EXPLAIN in a query";
    if (showsColumns(token.value.toLowerCase(), tokens, facts)) facts.showsColumns = `${token.value} here`;
    if (namesTable(token.value)) judgeTableNames(tokens, pairs, at, facts);
    if (takesFunctions(token.value)) judgeFunctionArguments(tokens, pairs, at + 1, facts);
    if (token.value === "hasColumnInTable" && argumentRanges(tokens, pairs, at + 1).length > 3) {
      refuse("Function hasColumnInTable is not available for other servers.");
    }
  }
}

/**
 * `DESCRIBE TABLE mergeTreeIndex('d', 't')` and `CREATE TABLE x AS dictionary('d.n')`: the engine asks for no grant to
 * see the columns. `merge` finds only tables that the user sees, when it is defined.
 */
function showsColumns(name: string, tokens: Tokens, { kind }: Facts): boolean {
  if (!tableFunctions.thisService.has(name)) return false;
  return isKeyword(tokens[0], "DESCRIBE") || (kind === "define" && name !== "merge");
}

/** Throws for a refused function; a name on no list is added to `facts.unknown`. */
export function judgeName(name: string, facts: Facts): void {
  const folded = name.toLowerCase();
  if (isRefusedFunction(name)) refuse(`Function ${name} is not available.`);
  if (functions.allowed.has(folded) || tableFunctions.allowed.has(folded) || definitionNames.has(folded)) return;
  // No valid name is that long, and the name is sent to the engine.
  if (name.length > 256) unknownFunction(name.slice(0, 40));
  if (isCombined(folded)) return;
  facts.unknown.add(name);
}

/** True for the name of a function or table function that no statement may call. */
export function isRefusedFunction(name: string): boolean {
  const folded = name.toLowerCase();
  return functions.refused.has(folded) || tableFunctions.refused.has(folded) || name.startsWith("__");
}

const combinators =
  /(?:simplestate|ordefault|distinct|resample|foreach|argmax|argmin|ornull|tuple|merge|state|array|null|map|if)$/;

/**
 * `sumIf`, `STDDEV_POPIf`, `quantileArrayIf`: a function with the suffixes of combinators, which the engine takes for
 * aggregate functions and their aliases only. A function of a user with such a name was judged when it was made.
 */
export function isCombined(folded: string): boolean {
  for (let name = folded; ; ) {
    const end = name.search(combinators);
    if (end <= 0) return false;
    name = name.slice(0, end);
    if (functions.allowed.has(name)) return true;
  }
}

/** `AS n(a, b)` of a table, `WITH RECURSIVE t(a, b) AS (...)`: column names, not arguments. */
export function isColumnList(tokens: Tokens, pairs: Int32Array, at: number): boolean {
  const close = pairs[at + 1] as number;
  for (let i = at + 2; i < close; i += 1) {
    const token = tokens[i];
    if (!isName(token) && !isMark(token, ",")) return false;
  }
  if (isKeyword(tokens[close + 1], "AS") && isMark(tokens[close + 2], "(")) return true;
  return isKeyword(tokens[at - 1], "AS") && (isKeyword(tokens[0], "SELECT") || isKeyword(tokens[0], "WITH"));
}

/** Array and map functions take lambdas, and user-defined ones may. No other function of the engine does. */
function takesFunctions(name: string): boolean {
  const folded = name.toLowerCase();
  return folded.startsWith("array") || folded.startsWith("map") || !functions.allowed.has(folded);
}

/** `arrayMap(file, ...)`: a bare name as an argument may be a function's. */
function judgeFunctionArguments(tokens: Tokens, pairs: Int32Array, open: number, facts: Facts): void {
  for (const [from, to] of argumentRanges(tokens, pairs, open)) {
    // The formatter keeps parentheses around a name.
    const depth = wrapping(tokens, pairs, from, to);
    const token = tokens[from + depth];
    if (to - from !== 2 * depth + 1) continue;
    if (isName(token) && isRefusedFunction(token.value)) refuse(`Function ${token.value} is not available.`);
    if (token?.kind === "parameter" && token.type === "Identifier") facts.identifiers.add(token.value);
  }
}

/** Number of parentheses that enclose the whole range from `from` to `to`. */
function wrapping(tokens: Tokens, pairs: Int32Array, from: number, to: number): number {
  let depth = 0;
  while (isMark(tokens[from + depth], "(") && pairs[from + depth] === to - 1 - depth) depth += 1;
  return depth;
}

/**
 * `* APPLY name`, `* APPLY name(parameters)`, `* APPLY (name, 'prefix')`, `* APPLY (x -> ...)`. The formatter writes
 * name and prefix as they are, so both must be so plain that they can be nothing else. A lambda holds ordinary calls.
 */
function judgeApplied(tokens: Tokens, pairs: Int32Array, at: number, facts: Facts): void {
  const first = tokens[at + 1];
  const named = isKeyword(tokens[at - 1], "AS") || isMark(tokens[at - 1], ".");
  // `ALTER TABLE t (APPLY DELETED MASK)`, `(APPLY PATCHES)`.
  const command = isMark(tokens[at - 1], "(") && (isKeyword(tokens[at + 2], "MASK") || isKeyword(first, "PATCHES"));
  if (named || command) return;
  const name = appliedName(tokens, pairs, at + 1);
  if (name !== undefined) judgeName(name, facts);
}

/** The name of the function after APPLY; undefined for a lambda. */
function appliedName(tokens: Tokens, pairs: Int32Array, at: number): string | undefined {
  const first = tokens[at];
  if (first?.kind === "word") return isMark(tokens[at + 1], "->") ? undefined : first.value;
  if (!isMark(first, "(")) refuse("The guard of this interface cannot read what APPLY applies.");
  if (isMark(tokens[at + 2], "->") || isLambdaOfMany(tokens, pairs, at + 1)) return undefined;
  const name = tokens[at + 1];
  const comma = isMark(tokens[at + 2], "(") ? (pairs[at + 2] as number) + 1 : at + 2;
  const prefix = tokens[comma + 1];
  const plain = isMark(tokens[comma], ",") && comma + 2 === pairs[at] && prefix?.kind === "string";
  if (name?.kind !== "word" || !plain || /['"`\\]/.test(prefix.value)) {
    refuse("APPLY takes a function and a prefix without quotes.");
  }
  return name.value;
}

/** `(a, b) -> ...`. */
function isLambdaOfMany(tokens: Tokens, pairs: Int32Array, at: number): boolean {
  return isMark(tokens[at], "(") && isMark(tokens[(pairs[at] as number) + 1], "->");
}
