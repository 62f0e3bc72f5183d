/**
 * Reads the client's own text where it is so plain that the engine can read it in one way only: ASCII words, numbers,
 * simple quotes, comments. Anything that depends on more than the next few bytes stops the reading: heredocs, braces,
 * curly quotes, hexadecimal strings, unusual comments.
 *
 * Texts are latin1 strings: one character is one byte.
 */
import type { CanonicalTokenKind, SqlToken } from "./tokens.ts";

const piece =
  /([ \t\n\r\f\v]+|--[^\n]*(?:\n|$)|\/\*[^*/]*(?:(?:\*(?!\/)|\/(?!\*))[^*/]*)*\*\/)|((?![xXbB]')[A-Za-z_][A-Za-z0-9_]*)|((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$.]))|('[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*')|(`[^`\\]*(?:(?:\\[\s\S]|``)[^`\\]*)*`|"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*")|(->|::|<=|>=|!=|<>|==|\|\||[()[\],.+*%=<>?:;]|-(?!-)|\/(?![/*]))/y;

const kinds: readonly CanonicalTokenKind[] = ["word", "number", "string", "quoted", "mark"];

/**
 * The next token at or after `from`: `undefined` at the end of the text, `"odd"` where the text is not plain. Quotes
 * keep their source as value, without the outer quotes.
 */
export function plainTokenAt(text: string, from: number): SqlToken | undefined | "odd" {
  for (let at = from; at < text.length; at = piece.lastIndex) {
    piece.lastIndex = at;
    const found = piece.exec(text);
    if (found === null) return "odd";
    if (found[1] !== undefined) continue;
    const group = found.findIndex((value, index) => index > 1 && value !== undefined);
    const source = found[0];
    const kind = kinds[group - 2] as CanonicalTokenKind;
    const value = kind === "string" || kind === "quoted" ? source.slice(1, -1) : source;
    return { kind, value, type: "", start: at, end: piece.lastIndex };
  }
  return undefined;
}

/** All tokens up to `maxTokens`; undefined when the text is not plain or has more. */
export function readPlain(text: string, maxTokens: number): SqlToken[] | undefined {
  const tokens: SqlToken[] = [];
  for (let at = 0; ; ) {
    const token = plainTokenAt(text, at);
    if (token === undefined) return tokens;
    if (token === "odd" || tokens.length === maxTokens) return undefined;
    tokens.push(token);
    at = token.end;
  }
}
