/**
 * The fast path for plain statements: the facts of a SELECT or the head of an INSERT without a query to the engine.
 *
 * Why it is sound: the engine can read the text's tokens in one way only (`text/plain-text.ts`), no name in it is
 * forbidden, every name before a parenthesis is a listed function or a keyword, and no word begins a clause that
 * another rule must see. The parser adds functions of its own for operators and keywords, and none of these is
 * forbidden. Anything less plain takes the slow path; the fast path refuses nothing.
 */

import { isFilePath } from "../../clickhouse/names.ts";
import { functions, tableFunctions } from "./lists/lists.ts";
import { emptyFacts, type Facts } from "./rules/facts.ts";
import { collectMemberships } from "./rules/membership.ts";
import { namesTable } from "./rules/table-names.ts";
import { readPlain } from "./text/plain-text.ts";
import { isMark, isName } from "./text/scan.ts";
import type { SqlToken } from "./text/tokens.ts";

type Tokens = readonly SqlToken[];

const maxTokens = 4_000;

/** Clauses with rules of their own, and nested statements of other kinds. */
const otherClauses = /^(?:into|settings?|apply|with|explain|describe|infile|outfile|execute|parallel|format)$/;

/** Keywords that a parenthesis may follow. */
const keywords = new Set(
  (
    "select from where prewhere having qualify and or not in on using by join as between like ilike when then else " +
    "limit offset over all distinct union except intersect exists filter partition order group interval is case any"
  ).split(" "),
);

/** True for a keyword that may precede a parenthesis; a user-defined function of such a name is judged at creation. */
export function isPlainKeyword(name: string): boolean {
  return keywords.has(name.toLowerCase());
}

/** Table functions without structures. */
const plainTableFunctions = new Set([
  "numbers",
  "numbers_mt",
  "zeros",
  "zeros_mt",
  "generateseries",
  "generate_series",
]);

/** Functions that another rule inspects. */
const watched = new Set(["format"]);

/** The facts of a plain statement (latin1); undefined when the engine must be asked. */
export function plainFacts(text: string): Facts | undefined {
  if (!/^\s*(?:select|insert)\b/i.test(text)) return undefined;
  const tokens = readPlain(text, maxTokens);
  if (tokens === undefined || tokens.length === 0) return undefined;
  if (wordOf(tokens[0]) === "insert") return insertFacts(tokens);
  if (!tokens.every((_, at) => isPlain(tokens, at))) return undefined;
  const facts = emptyFacts("read", true);
  collectMemberships(tokens, facts);
  // The tree tells a table from columns in a list.
  return facts.memberships.size > 0 ? undefined : facts;
}

function isPlain(tokens: Tokens, at: number): boolean {
  const token = tokens[at] as SqlToken;
  if (isMark(token, ";")) return at === tokens.length - 1;
  // An escape may stand for a slash.
  if (token.kind === "string" && /[\\/]/.test(token.value)) return !mayBeTable(tokens, at);
  if (!isName(token)) return true;
  if (token.kind === "quoted" && (/[\\`"]/.test(token.value) || isFilePath(token.value))) return false;
  const name = token.value.toLowerCase();
  if (token.kind === "word" && otherClauses.test(name)) return false;
  if (functions.refused.has(name) || tableFunctions.refused.has(name) || name.startsWith("__")) return false;
  if (!isMark(tokens[at + 1], "(")) return true;
  // `a.b(1)` is a single name.
  if (isMark(tokens[at - 1], ".")) return false;
  if (functions.allowed.has(name)) return !watched.has(name) && !namesTable(name);
  return token.kind === "word" && (keywords.has(name) || plainTableFunctions.has(name));
}

/** `FROM 'text'`, `JOIN 'text'` and `FROM a, 'text'` name a table; a text after another text or number does not. */
function mayBeTable(tokens: Tokens, at: number): boolean {
  const previous = tokens[at - 1];
  if (isMark(previous, ",")) return !/^(?:string|number)$/.test(tokens[at - 2]?.kind ?? "");
  return /^(?:from|join)$/.test(wordOf(previous));
}

/** `INSERT INTO [TABLE] name [(columns)] FORMAT name` or `VALUES`, and nothing after it. */
function insertFacts(tokens: Tokens): Facts | undefined {
  if (wordOf(tokens[1]) !== "into") return undefined;
  if (tokens.some((token) => token.kind === "quoted" && isFilePath(token.value))) return undefined;
  let at = wordOf(tokens[2]) === "table" ? 3 : 2;
  if (/^(?:table|function|values|format)$/.test(wordOf(tokens[at])) || !isName(tokens[at])) return undefined;
  at = isMark(tokens[at + 1], ".") && isName(tokens[at + 2]) ? at + 3 : at + 1;
  if (isMark(tokens[at], "(")) {
    const names = (token: SqlToken | undefined) => isName(token) || isMark(token, ",") || isMark(token, ".");
    for (at += 1; names(tokens[at]); at += 1);
    if (!isMark(tokens[at], ")")) return undefined;
    at += 1;
  }
  const format = wordOf(tokens[at]) === "values" ? "Values" : formatOf(tokens[at], tokens[at + 1]);
  const length = format === "Values" && wordOf(tokens[at]) === "values" ? at + 1 : at + 2;
  if (format === undefined || tokens.length !== length) return undefined;
  return { ...emptyFacts("insert", false), format };
}

function formatOf(keyword: SqlToken | undefined, name: SqlToken | undefined): string | undefined {
  return wordOf(keyword) === "format" && name?.kind === "word" ? name.value : undefined;
}

function wordOf(token: SqlToken | undefined): string {
  return token?.kind === "word" ? token.value.toLowerCase() : "";
}
