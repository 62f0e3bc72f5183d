/**
 * The quotes of the client's own text against those of its canonical text. The formatter writes some names and texts
 * without quotes, or does not escape what is in them: then the rest of the canonical text means something else than
 * what runs. So every name and text that could end a quote must be one quoted token there, equally often.
 *
 * Where the client's quotes are is known for a plain text, and otherwise asked of the engine (`tokenizeQuery`). Texts
 * are latin1.
 */
import { plainTokenAt } from "./plain-text.ts";
import { isKeyword, isMark } from "./scan.ts";
import type { SqlToken } from "./tokens.ts";

/** Start and end of a quoted name, a text or a heredoc in the client's text, as the engine's lexer sees it. */
export type QuotedRange = readonly [start: number, end: number];

/** The quotes of a plain text; undefined when the engine must be asked. */
export function plainQuotes(text: string): QuotedRange[] | undefined {
  const ranges: QuotedRange[] = [];
  for (let at = 0; ; ) {
    const token = plainTokenAt(text, at);
    if (token === undefined) return ranges;
    if (token === "odd") return undefined;
    if (token.kind === "string" || token.kind === "quoted") ranges.push([token.start, token.end]);
    at = token.end;
  }
}

/** Contents that no reader could take for more than one word, or for anything but a text. */
const harmlessName = /^[A-Za-z0-9_]*$/;
const harmlessText = /^[^'"`\\]*$/;

/**
 * A name or text of the client that the canonical text does not hold as one token, or holds more often although
 * `exactly`; undefined when there is none.
 */
export function unquoted(
  text: string,
  ranges: readonly QuotedRange[],
  canonical: readonly SqlToken[],
  { exactly }: { readonly exactly: boolean },
): string | undefined {
  if (ranges.length === 0) return undefined;
  const counts = new Map<string, number>();
  for (const [start, end] of ranges) {
    const { value, isName } = decodeQuoted(text.slice(start, end));
    if (!(isName ? harmlessName : harmlessText).test(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const values = canonical.flatMap((token, at) => quotedValues(token, !exactly && isCast(canonical, at)));
  for (const value of values) {
    const count = counts.get(value);
    if (count !== undefined) counts.set(value, count - 1);
  }
  return [...counts].find(([, left]) => left > 0 || (exactly && left < 0))?.[0];
}

/** What could end a quote, or begin or end a parameter, where the formatter writes it as it is. */
const breaking = /['"`{}]|\\$/;

/**
 * A name or text of the client that the canonical text could hold as code without its tokens showing it; undefined when
 * there is none. To count its tokens does not exclude that, because the formatter writes the subject of BETWEEN twice.
 */
export function breakingQuote(text: string, ranges: readonly QuotedRange[]): string | undefined {
  return ranges.map(([start, end]) => decodeQuoted(text.slice(start, end)).value).find((value) => breaking.test(value));
}

/** `['x']::Array(JSON)` becomes `CAST('[\\'x\\']', 'Array(JSON)')`: value and type are texts, with texts in them. */
function isCast(canonical: readonly SqlToken[], at: number): boolean {
  const call = isMark(canonical[at - 1], "(") ? at - 2 : at - 4;
  return canonical[at]?.kind === "string" && isKeyword(canonical[call], "CAST");
}

/** A parameter is one token here, whose type may hold texts. */
function quotedValues({ kind, value, type }: SqlToken, isNested: boolean): string[] {
  const inner = kind === "parameter" ? type : isNested ? value : "";
  const texts = inner.includes("'") ? [...inner.matchAll(/'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'/g)] : [];
  const found = texts.map(([source]) => decodeQuoted(source).value);
  return kind === "string" || kind === "quoted" ? [value, ...found] : found;
}

/** The content of a quoted token of the engine's lexer. */
export function decodeQuoted(source: string): { readonly value: string; readonly isName: boolean } {
  const first = source[0] as string;
  if (first === "$")
    return {
      value: source.slice(source.indexOf("$", 1) + 1, source.lastIndexOf("$", source.length - 2)),
      isName: false,
    };
  if (/[xX]/.test(first)) return { value: fromDigits(source.slice(2, -1), 16, 2), isName: false };
  if (/[bB]/.test(first)) return { value: fromDigits(source.slice(2, -1), 2, 8), isName: false };
  // Curly quotes are three bytes of UTF-8; what is between them is taken as it is.
  if (first === "\xe2") return { value: source.slice(3, -3), isName: source[2] === "\x9c" };
  return { value: unescaped(source.slice(1, -1), first), isName: first !== "'" };
}

/** The engine fills up the first byte with zeros. */
function fromDigits(digits: string, base: number, perByte: number): string {
  const filled = "0".repeat((perByte - (digits.length % perByte)) % perByte) + digits;
  const bytes: number[] = [];
  for (let at = 0; at < filled.length; at += perByte) bytes.push(Number.parseInt(filled.slice(at, at + perByte), base));
  return String.fromCharCode(...bytes);
}

/** What the letter after a backslash stands for, in a text in quotes and in TSV. */
export const escapes: Readonly<Record<string, string>> = {
  ...{ a: "\x07", b: "\b", e: "\x1b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "0": "\0", N: "" },
};

/** `parseComplexEscapeSequence` of the engine: an escape without a meaning keeps its backslash. */
function unescaped(content: string, quote: string): string {
  return content.replace(/\\(?:x([0-9A-Fa-f]{2})|([\s\S]))|(['"`])\3/g, (source, hex, char, doubled) => {
    if (doubled !== undefined) return doubled === quote ? doubled : source;
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    const known = escapes[char];
    if (known !== undefined) return known;
    return /[\\'"`/=]/.test(char) ? char : source;
  });
}

/**
 * True when the text may hold an alias that is a parameter, `1 AS {name:Identifier}`: the formatter omits it. The
 * type's name has no other spelling.
 */
export function mayHideAlias(text: string): boolean {
  return /identifier/i.test(text);
}
