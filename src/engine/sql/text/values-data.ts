/**
 * Data of INSERT ... VALUES. The engine can evaluate expressions in it, `now()` or `1 + 2`, or accept only literals.
 * Expressions are enabled for data that is plain and calls only listed functions.
 */

import { isFilePath } from "../../../clickhouse/names.ts";
import { functions, typeNames } from "../lists/lists.ts";
import { namesTable } from "../rules/table-names.ts";
import { plainTokenAt } from "./plain-text.ts";
import { isName } from "./scan.ts";

/** Bytes of data that are searched at once; longer data is searched as it arrives. */
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
  return new ValuesScan().judge(text, true) === text.length;
}

/** Bytes of data that may be incomplete at the end of what has arrived: a longer literal without quotes is refused. */
const maxHeld = 1_048_576;

/** Data that arrives in pieces. */
export class ValuesScan {
  /** True within a text in quotes, which may be longer than a piece. */
  #isText = false;

  /**
   * The length of the beginning of the text (latin1) that may be parsed with expressions; the rest is to be judged
   * again with what follows it. Undefined when the text holds something else.
   */
  judge(text: string, isEnd: boolean): number | undefined {
    for (let at = 0; at < text.length; ) {
      const end = this.#isText ? this.#skipText(text, at) : endOfNext(text, at, isEnd);
      if (typeof end === "number") at = end;
      else if (end === "held" && !this.#isText && !isEnd && text[at] === "'") {
        this.#isText = true;
        at += 1;
      } else return end === undefined || isEnd || text.length - at > maxHeld ? undefined : at;
    }
    return text.length;
  }

  /** Two quotes in a row end one text and begin another, which is as harmless as one text. */
  #skipText(text: string, at: number): number | "held" {
    restOfText.lastIndex = at;
    restOfText.exec(text);
    const { lastIndex } = restOfText;
    if (text[lastIndex] !== "'") return lastIndex === at ? "held" : lastIndex;
    this.#isText = false;
    return lastIndex + 1;
  }
}

/** Without a backslash at its end, whose character has not arrived. */
const restOfText = /[^'\\]*(?:\\[\s\S][^'\\]*)*/y;
const blankEnd = /[ \t\r\n]*$/y;

/** The end of what is harmless from here on; "held": more has to arrive, or it is none of the language. */
function endOfNext(text: string, at: number, isEnd: boolean): number | "held" | undefined {
  literals.lastIndex = at;
  if (literals.test(text)) {
    let end = literals.lastIndex;
    // A number may continue, also as a name.
    if (end === text.length && !isEnd) while (end > at && /[-+.eE0-9]/.test(text[end - 1] as string)) end -= 1;
    return end === at ? "held" : end;
  }
  unusual.lastIndex = at;
  if (unusual.test(text)) return isEnd || unusual.lastIndex < text.length ? unusual.lastIndex : "held";
  const token = plainTokenAt(text, at);
  if (token === undefined || token === "odd") return "held";
  // The engine's lexer skips comments, its row reader does not.
  if (token.start !== at) return undefined;
  blankEnd.lastIndex = token.end;
  // It may continue, and a parenthesis may follow.
  if (!isEnd && (token.end === text.length || (isName(token) && blankEnd.test(text)))) return "held";
  return isName(token) && !isHarmless(text, token.value, token.end) ? undefined : token.end;
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
