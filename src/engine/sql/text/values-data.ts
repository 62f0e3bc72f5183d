/**
 * Data of INSERT ... VALUES. The engine can evaluate expressions in it, `now()` or `1 + 2`, or accept only literals.
 * Expressions are enabled for data that is plain and calls only listed functions.
 */
import { functions, typeNames } from "../lists/lists.ts";
import { isFilePath, namesTable } from "../rules/table-names.ts";
import { plainTokenAt } from "./plain-text.ts";
import { isName } from "./scan.ts";

/** Bytes of data that are searched; longer data must consist of literals. */
export const maxSearchedBytes = 1_048_576;

/** Words that begin a query, or name a function without parentheses. */
const queries = /^(?:select|with|from|apply|insert)$/i;

/** A bound parameter stands for a literal, unless it is an identifier. */
const parameter = /\{[A-Za-z_][A-Za-z0-9_$]*:(?!\s*Identifier)[A-Za-z0-9_(), ]+\}/gi;

/** Many literals and marks at once, which covers nearly all data. Its alternatives begin with different characters. */
const literals =
  /(?:[ \t\r\n,()]+|'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$.])){1,200}/y;
/** Literals that the plain reading does not know: `x'41'`, `0x1F`, `1_000`, `$$text$$`. */
const unusual =
  /[xXbB]'[0-9A-Fa-f]*'|0[xX][0-9A-Fa-f]+(?![A-Za-z0-9_$.])|[0-9]+(?:_[0-9]+)+(?![A-Za-z0-9_$.])|\$\$[^$]*\$\$/y;
const opening = /[ \t\r\n]*\(/y;

/** True when the whole data (latin1) may be parsed with expressions. The time is linear. */
export function mayHoldExpressions(data: string): boolean {
  if (data.length > maxSearchedBytes) return false;
  const text = data.replace(parameter, "0");
  for (let at = 0; at < text.length; ) {
    literals.lastIndex = at;
    if (literals.test(text)) {
      at = literals.lastIndex;
      continue;
    }
    unusual.lastIndex = at;
    if (unusual.test(text)) {
      at = unusual.lastIndex;
      continue;
    }
    const token = plainTokenAt(text, at);
    // The engine's lexer skips comments, its row reader does not.
    if (token === undefined || token === "odd" || token.start !== at) return false;
    if (isName(token) && !isHarmless(text, token.value, token.end)) return false;
    at = token.end;
  }
  return true;
}

function isHarmless(text: string, value: string, end: number): boolean {
  // An escape could spell any name.
  if (/[\\`"]/.test(value) || isFilePath(value)) return false;
  const name = value.toLowerCase();
  if (queries.test(name) || functions.refused.has(name)) return false;
  opening.lastIndex = end;
  if (!opening.test(text) || name === "in") return true;
  // `format` is also a table function, which takes a structure.
  return (functions.allowed.has(name) || typeNames.has(name)) && name !== "format" && !namesTable(name);
}
