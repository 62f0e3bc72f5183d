/**
 * Lexical rules of the filter language: words with escapes and wildcards, quoted text, and where a word ends. What a
 * character means depends on the place (a colon ends a field name but belongs to a value), so the parser asks for the
 * kind of word it expects. Every function takes the text and an offset and returns the offset after what it read.
 */
import { FilterError, type PatternPart } from "./syntax.ts";

export type WordPlace =
  /** A bare word or a field name: a colon ends it, except in `scheme://...` and `host:port`. */
  | "start"
  /** After `field:`: a colon belongs to the value. */
  | "value"
  /** A bound of a range. */
  | "bound";

export type Word = {
  readonly parts: readonly PatternPart[];
  /** Escapes resolved, wildcards as typed. */
  readonly text: string;
  /** True when an escape was used, which takes the special meaning from keywords. */
  readonly escaped: boolean;
  readonly start: number;
  readonly end: number;
};

/** Wildcards of one word. */
export const maxWildcards = 100;

const space = /\s/;
const urlStart = /[A-Za-z][A-Za-z0-9+.-]*:\/\//y;
const hostAndPort = /(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}(?![\w.])/y;

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && space.test(text[at] as string)) at += 1;
  return at;
}

/** True when a word, and not an operator or the end, begins here. */
export function startsWord(text: string, at: number): boolean {
  return at < text.length && !endsWord(text[at] as string);
}

/** Reads a word that is known to begin at `start`. */
export function readWord(text: string, start: number, place: WordPlace): Word {
  const literalEnd = place === "start" ? endOfAddress(text, start) : start;
  const parts: PatternPart[] = [];
  let run = text.slice(start, literalEnd);
  let whole = run;
  let escaped = false;
  let at = literalEnd;
  let wildcards = 0;
  const flush = () => {
    if (run !== "") parts.push({ kind: "text", text: run });
    run = "";
  };
  for (; at < text.length; at += 1) {
    const char = text[at] as string;
    if (endsWord(char) || (char === ":" && place === "start" && literalEnd === start)) break;
    if (char === "\\") {
      at += 1;
      if (at >= text.length) throw new FilterError("a backslash must be followed by a character", at - 1);
      run += text[at];
      whole += text[at];
      escaped = true;
    } else if (char === "*" || (char === "?" && literalEnd === start)) {
      flush();
      wildcards += 1;
      if (wildcards > maxWildcards) throw new FilterError(`a word has at most ${maxWildcards} wildcards`, at);
      parts.push({ kind: char === "*" ? "any" : "one" });
      whole += char;
    } else {
      run += char;
      whole += char;
    }
  }
  flush();
  refuseSuffix(text, start, at);
  return { parts, text: whole, escaped, start, end: at };
}

/** Reads `"..."` or `'...'` (the latter only inside brackets) that begins at `start`. */
export function readQuoted(text: string, start: number): { value: string; end: number } {
  const quote = text[start];
  let value = "";
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at] as string;
    if (char === quote) return { value, end: at + 1 };
    if (char === "\\" && at + 1 < text.length) {
      at += 1;
      const next = text[at] as string;
      // Only the quote and the backslash need an escape; `\d` in a Windows path or a pattern stays as typed.
      value += next === quote || next === "\\" ? next : `\\${next}`;
    } else value += char;
  }
  throw new FilterError(`the quote opened here is not closed`, start);
}

function endsWord(char: string): boolean {
  return space.test(char) || '()[]{}"'.includes(char);
}

/** A URL or `host:port` may stand unescaped as a bare word. Returns the end of its head, or `start`. */
function endOfAddress(text: string, start: number): number {
  for (const pattern of [urlStart, hostAndPort]) {
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    if (match) return start + match[0].length;
  }
  return start;
}

/** `word~2` and `word^3` mean fuzzy search and boost elsewhere; taking them as text would be a silent surprise. */
function refuseSuffix(text: string, start: number, end: number): void {
  const suffix = /(?<!\\)(?:\\\\)*([~^]\d*(?:\.\d+)?)$/.exec(text.slice(start, end));
  if (!suffix || suffix[1] === undefined || suffix[1].length === end - start) return;
  const what = suffix[1].startsWith("~") ? "fuzzy search" : "boost";
  throw new FilterError(
    `${what} is not supported; write \\${suffix[1]} to search for the characters`,
    end - suffix[1].length,
  );
}
