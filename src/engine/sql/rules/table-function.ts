/**
 * Table functions whose arguments may hold the structure of a table. Such an argument must be a literal that the guard
 * can read, and consist of plain names and types (`../text/structure.ts`).
 */

import { tableFunctions } from "../lists/lists.ts";
import { argumentRanges, isCall, isKeyword, isMark, isName } from "../text/scan.ts";
import { structureProblem } from "../text/structure.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";
import { judgeFormat as judgeStorageFormat } from "./object-storage.ts";
import { refuse } from "./refusal.ts";

type Tokens = readonly SqlToken[];
type Range = readonly [number, number];

const generators = new Set(["input", "generaterandom", "null", "fuzzjson"]);
const values = new Set(["values", "sqlstandardvalues"]);

/** Arguments of table functions that contain literals themselves. */
const nestedArguments = new Set(["headers", "extra_credentials"]);

/** True when the call at `at` is a table function that may take a structure. */
export function isStructured(tokens: Tokens, at: number): boolean {
  const name = (tokens[at] as SqlToken).value.toLowerCase();
  if (name === "format") {
    // The scalar function of this name takes its pattern first, and no format name contains a brace.
    const first = tokens[at + 2];
    return !(first?.kind === "string" && first.value.includes("{") && isAfter(tokens[at + 3], ",", ")"));
  }
  return generators.has(name) || values.has(name) || tableFunctions.objectStorage.has(name);
}

/** Throws when an argument of the table function at `at` could supply a structure that was not judged. */
export function judgeTableFunction(tokens: Tokens, pairs: Int32Array, at: number, facts: Facts): void {
  const name = (tokens[at] as SqlToken).value;
  const folded = name.toLowerCase();
  const ranges = argumentRanges(tokens, pairs, at + 1);
  if (values.has(folded)) judgeValues(tokens, pairs, ranges, name);
  else if (folded === "format") judgeFormat(tokens, ranges, name, facts);
  else {
    const storage = tableFunctions.objectStorage.has(folded);
    if (storage) judgeStorageFormat(tokens, ranges, name);
    for (const [index, range] of ranges.entries()) {
      if (storage && index === 0) judgeAddress(tokens, range, name, facts);
      else judgeArgument(tokens, range, name, facts);
    }
  }
}

/** The address of object storage must be a literal; it is kept for the caller's policy. */
export function judgeAddress(tokens: Tokens, [from, to]: Range, name: string, facts: Facts): void {
  const token = tokens[from];
  if (to !== from + 1 || token?.kind !== "string") refuse(`The address of ${name} must be a text in quotes.`);
  facts.addresses.add(token.value);
}

/** `values('structure', row, ...)` or `values(row, ...)`; rows may be computed, a structure may not. */
function judgeValues(tokens: Tokens, pairs: Int32Array, ranges: readonly Range[], name: string): void {
  const [first] = ranges;
  if (first === undefined) return;
  let [from, to] = first;
  // `VALUES ((1), (2))`: the parentheses of a row with one value.
  for (; isMark(tokens[from], "(") && pairs[from] === to - 1 && !hasComma(tokens, pairs, from); to -= 1) from += 1;
  const token = tokens[from] as SqlToken;
  if (to === from + 1 && token.kind === "string") {
    if (ranges.length > 1) judgeText(token.value, name);
    return;
  }
  const constant = token.kind === "number" || isKeyword(token, "true") || isKeyword(token, "false");
  if (to === from + 1 && constant) return;
  const tuple = isMark(token, "(") && pairs[from] === to - 1 && argumentRanges(tokens, pairs, from).length > 1;
  const called = isCall(tokens, from) && token.value === "tuple" && pairs[from + 1] === to - 1;
  if (!tuple && !called) refuse(`The first argument of table function ${name} must be a literal or a row.`);
}

function hasComma(tokens: Tokens, pairs: Int32Array, open: number): boolean {
  return argumentRanges(tokens, pairs, open).length > 1;
}

/** `format(name, data)` or `format(name, structure, data)`. */
function judgeFormat(tokens: Tokens, ranges: readonly Range[], name: string, facts: Facts): void {
  const [format, second] = ranges;
  if (format !== undefined) judgeFormatName(tokens, format, name, facts);
  if (ranges.length > 2 && second !== undefined) judgeArgument(tokens, second, name, facts);
}

/** VALUES can hold expressions, and the data is not read here. */
function judgeFormatName(tokens: Tokens, [from, to]: Range, name: string, facts: Facts): void {
  const token = tokens[from];
  const literal = to === from + 1 && (token?.kind === "string" || isName(token));
  if (!literal) refuse(`The format of table function ${name} must be a literal.`);
  if (isName(token)) facts.bareWords = true;
  judgeFormatText(token.value, name);
}

function judgeFormatText(format: string, name: string): void {
  if (/^values$/i.test(format.trim())) refuse(`Format Values is not available in ${name}.`);
}

/** A literal, `key = literal`, or `headers(...)`, `extra_credentials(...)` with such pairs. */
function judgeArgument(tokens: Tokens, [from, to]: Range, name: string, facts: Facts): void {
  let at = from;
  if (isCall(tokens, at) && nestedArguments.has((tokens[at] as SqlToken).value)) {
    for (let i = at + 2; i < to - 1; i += 1) judgeLiteral(tokens, i, name, facts);
    return;
  }
  if (isName(tokens[at]) && isMark(tokens[at + 1], "=")) at += 2;
  for (; at < to; at += 1) judgeLiteral(tokens, at, name, facts);
}

function judgeLiteral(tokens: Tokens, at: number, name: string, facts: Facts): void {
  const token = tokens[at] as SqlToken;
  if (token.kind === "string") judgeText(token.value, name);
  else if (isBareWord(tokens, at)) {
    facts.bareWords = true;
    judgeFormatText(token.value, name);
  } else if (token.kind !== "number" && !isMark(token, "-") && !isMark(token, "=") && !isMark(token, ",")) {
    refuse(
      `The arguments of table function ${name} must be literals: ` +
        "a structure from a parameter, a name or an expression cannot be looked at.",
    );
  }
}

/** `CSV`, `NOSIGN`: a word that stands for itself, because the statement does not define this name. */
function isBareWord(tokens: Tokens, at: number): boolean {
  return isName(tokens[at]) && !isCall(tokens, at) && !definedNames(tokens).has((tokens[at] as SqlToken).value);
}

/** A text without a parenthesis can call nothing, so keys and paths pass; any other text must be a plain structure. */
function judgeText(text: string, name: string): void {
  judgeFormatText(text, name);
  if (!text.includes("(")) return;
  const problem = structureProblem(text);
  if (problem !== undefined) refuse(`The structure in table function ${name} ${problem}.`);
}

const defined = new WeakMap<Tokens, ReadonlySet<string>>();

/** Names that the statement gives to expressions, tables or lambda parameters: they may stand for a computed text. */
export function definedNames(tokens: Tokens): ReadonlySet<string> {
  const known = defined.get(tokens);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const [at, token] of tokens.entries()) {
    const around = isKeyword(token, "AS") ? [tokens[at - 1], tokens[at + 1]] : [];
    for (const name of around) if (isName(name)) names.add(name.value);
    if (isMark(token, "->")) for (const name of lambdaParameters(tokens, at)) names.add(name);
  }
  defined.set(tokens, names);
  return names;
}

/** `a ->` and `(a, b) ->`. */
function lambdaParameters(tokens: Tokens, arrow: number): string[] {
  const before = tokens[arrow - 1];
  if (isName(before)) return [before.value];
  const names: string[] = [];
  for (let i = arrow - 2; i >= 0 && !isMark(tokens[i], "("); i -= 1) names.push((tokens[i] as SqlToken).value);
  return names;
}

function isAfter(token: SqlToken | undefined, ...marks: readonly string[]): boolean {
  return marks.some((mark) => isMark(token, mark));
}
