/**
 * Data of INSERT ... VALUES. The engine can read expressions in it, `now()` or `1 + 2`, and reads literals without them.
 * They are allowed for data that is plain and calls nothing but functions of the list.
 */
import { functions } from "./lists.ts";
import { readPlain } from "./plain-text.ts";
import { isMark, isName } from "./scan.ts";

/** Bytes of data that are searched; longer data must consist of literals. */
export const maxSearchedBytes = 1_048_576;

const maxTokens = 500_000;

/** Words that begin a query, or name a function without parentheses. */
const queries = /^(?:select|with|from|apply|insert)$/i;

/** A bound parameter stands for a literal, unless it is an identifier. */
const parameter = /\{[A-Za-z_][A-Za-z0-9_$]*:(?!\s*Identifier)[A-Za-z0-9_(), ]+\}/gi;

/** True when the whole data (latin1) may be parsed with expressions. */
export function mayHoldExpressions(data: string): boolean {
  if (data.length > maxSearchedBytes) return false;
  const tokens = readPlain(data.replace(parameter, "0"), maxTokens);
  if (tokens === undefined) return false;
  return tokens.every((token, at) => {
    if (!isName(token)) return true;
    // An escape could spell any name.
    if (token.kind === "quoted" && /[\\`"]/.test(token.value)) return false;
    const name = token.value.toLowerCase();
    if (queries.test(name) || functions.refused.has(name)) return false;
    // `format` is also a table function, which takes a structure.
    return !isMark(tokens[at + 1], "(") || (functions.allowed.has(name) && name !== "format") || name === "in";
  });
}
