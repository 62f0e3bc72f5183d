/** Settings of the request, of SET, and of every SETTINGS clause. Only names on the list may be changed. */

import { settingNames } from "../lists/lists.ts";
import { isCall, isKeyword, isMark, isName } from "../text/scan.ts";
import { structureProblem } from "../text/structure.ts";
import type { SqlToken } from "../text/tokens.ts";
import { type Facts, maxStatementBytes } from "./facts.ts";
import { fixedSetting, refuse, unknownSetting } from "./refusal.ts";

type Tokens = readonly SqlToken[];

/** The current values of refused settings; setting one to its current value is allowed. */
const standing = new Map(
  [...settingNames.refused].map((entry) => {
    const at = entry.indexOf("=");
    return at < 0 ? ([entry, undefined] as const) : ([entry.slice(0, at), entry.slice(at + 1)] as const);
  }),
);

/** Custom settings of users; the server's `custom_settings_prefixes` must be the same. */
const custom = /^SQL_[A-Za-z0-9_]+$/;

/** Throws when the request may not set this value; texts to be judged are added to `facts.nested`. */
export function judgeSetting(name: string, value: string, facts: Facts): void {
  if (settingNames.judged.has(name)) judgeText(name, value, facts);
  else judgePlain(name, value === "true" ? "1" : value === "false" ? "0" : value);
}

function judgePlain(name: string, value: string | undefined): void {
  // A smaller value makes the engine read only the beginning of the text, in which an unclosed heredoc is code.
  if (name === "max_query_size" && !(/^[0-9]{1,15}$/.test(value ?? "") && Number(value) >= maxStatementBytes)) {
    fixedSetting(name);
  }
  if (settingNames.allowed.has(name) || custom.test(name)) return;
  if (!standing.has(name)) unknownSetting(name);
  if (value === undefined || value !== standing.get(name)) fixedSetting(name);
}

/** Throws for a clause that changes a setting that is not allowed. */
export function judgeSettingClauses(tokens: Tokens, pairs: Int32Array, facts: Facts): void {
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as SqlToken;
    if (token.kind !== "word") continue;
    if (isKeyword(token, "SETTINGS") || isKeyword(token, "SETTING")) {
      // `SETTINGS (a = 1)` of a column and `SETTINGS(a = 1)` of a dictionary.
      const open = isMark(tokens[at + 1], "(");
      judgeList(tokens, pairs, open ? at + 2 : at + 1, facts);
    } else if (isKeyword(token, "SET") && at === 0) judgeList(tokens, pairs, 1, facts);
  }
}

/** `name = value, name = value`. */
function judgeList(tokens: Tokens, pairs: Int32Array, from: number, facts: Facts): void {
  let at = from;
  while (isName(tokens[at]) && isMark(tokens[at + 1], "=")) {
    const end = valueEnd(tokens, pairs, at + 2);
    judgeAssignment((tokens[at] as SqlToken).value, tokens.slice(at + 2, end), facts);
    if (!isMark(tokens[end], ",")) return;
    at = end + 1;
  }
}

/** A value is one token, a signed number, a call such as `disk(...)`, or something in brackets. */
function valueEnd(tokens: Tokens, pairs: Int32Array, from: number): number {
  let at = from;
  while (isMark(tokens[at], "-")) at += 1;
  if (isCall(tokens, at)) at += 1;
  const token = tokens[at];
  return token?.kind === "mark" && pairs[at] !== 0 ? (pairs[at] as number) + 1 : at + 1;
}

function judgeAssignment(name: string, value: Tokens, facts: Facts): void {
  const [first] = value;
  if (settingNames.bounded.has(name) && isKeyword(first, "DEFAULT")) fixedSetting(name);
  if (name.startsWith("param_")) judgeParameter(name, value, facts);
  else if (settingNames.judged.has(name)) judgeTokens(name, value, facts);
  else judgePlain(name, value.length === 1 && first !== undefined ? literalOf(first) : undefined);
}

/** The engine reads `true` and `false` as the numbers 1 and 0. */
function literalOf(token: SqlToken): string | undefined {
  if (token.kind === "string" || token.kind === "number") return token.value;
  return isKeyword(token, "true") ? "1" : isKeyword(token, "false") ? "0" : undefined;
}

/** `SET param_name = 'value'` of a session: any later statement may use it as a name. */
function judgeParameter(name: string, value: Tokens, facts: Facts): void {
  const [first] = value;
  if (value.length === 1 && first?.kind === "string") facts.parameters.push(first.value);
  else if (value.length !== 1 || first?.kind !== "number") refuse(`Setting ${name} must be set to a literal.`);
}

function judgeTokens(name: string, value: Tokens, facts: Facts): void {
  const [first] = value;
  if (value.length === 1 && first?.kind === "string") judgeText(name, first.value, facts);
  else if (name === "additional_table_filters") judgeMap(name, value, facts);
  else refuse(`Setting ${name} must be set to a text.`);
}

/** `{'table':'filter', ...}`. */
function judgeMap(name: string, value: Tokens, facts: Facts): void {
  for (const token of value) {
    if (token.kind === "string") addExpression(token.value, facts);
    else if (token.kind !== "mark" || !/^[{}:,]$/.test(token.value)) refuse(`Setting ${name} must be a map of texts.`);
  }
}

/** The value as text, as a URL parameter would hold it. */
function judgeText(name: string, value: string, facts: Facts): void {
  if (name === "additional_table_filters") judgeMapText(name, value, facts);
  else if (name === "additional_result_filter") addExpression(value, facts);
  else {
    const problem = value === "" ? undefined : structureProblem(value);
    if (problem !== undefined) refuse(`The structure in setting ${name} ${problem}.`);
  }
}

function judgeMapText(name: string, value: string, facts: Facts): void {
  const entry = /\s*'((?:[^'\\]|\\['\\])*)'\s*:\s*'((?:[^'\\]|\\['\\])*)'\s*(?:,|$)/y;
  const map = value.trim();
  if (!map.startsWith("{") || !map.endsWith("}")) refuse(`Setting ${name} must be a map of texts.`);
  const inner = map.slice(1, -1).trim();
  for (let at = 0; at < inner.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    const filter = entry.exec(inner)?.[2];
    if (filter === undefined) refuse(`Setting ${name} must be a map of texts without escapes other than \\' and \\\\.`);
    addExpression(filter.replace(/\\(.)/g, "$1"), facts);
  }
}

function addExpression(text: string, facts: Facts): void {
  if (text.trim() !== "") facts.nested.push(`SELECT ${text}`);
}
