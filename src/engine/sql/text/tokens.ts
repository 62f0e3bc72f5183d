/**
 * Reads the engine's canonical text of a statement (`formatQuerySingleLine`) into tokens. That text is a small
 * language: no comments, heredocs, curly quotes, hexadecimal strings or line breaks outside quotes. Anything else is
 * refused, so every text that is accepted is read as the engine reads it.
 *
 * Texts are latin1 strings: one character is one byte, whatever the encoding of the client.
 */

export type CanonicalTokenKind = "word" | "quoted" | "string" | "number" | "parameter" | "mark";

export type SqlToken = {
  readonly kind: CanonicalTokenKind;
  /** Content of quotes with escapes resolved; the name of a parameter; the source text of the other kinds. */
  readonly value: string;
  /** The type of a parameter, `Array(String)` in `{a:Array(String)}`; empty for the other kinds. */
  readonly type: string;
  /** Offsets into the text, end exclusive. */
  readonly start: number;
  readonly end: number;
};

/** A text outside of the small language. */
export class UnreadableText extends Error {
  /** Where reading stopped. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.name = "UnreadableText";
    this.at = at;
  }
}

const singleMarks = "()[],.+-*/%=<>?:^}";
const doubleMarks = new Set(["->", "::", "<=", ">=", "!=", "<>", "==", "||"]);
const digits = /[0-9]+/y;
const numbers = /(?:0[xX][0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
/** The whole content of a quote, in alternatives that cannot overlap: the time is linear. */
const quotes: Readonly<Record<string, RegExp>> = {
  "'": /'[^'\\]*(?:\\[\s\S][^'\\]*)*'/y,
  "`": /`[^`\\]*(?:\\[\s\S][^`\\]*)*`/y,
};
const parameters = /\{\s*([A-Za-z0-9_$]+)\s*:([^{}'`"\\]*(?:'[^'\\]*(?:\\[\s\S][^'\\]*)*'[^{}'`"\\]*)*)\}/y;

/** Every token of a canonical text, in linear time. Throws `UnreadableText`. */
export function readCanonical(text: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x20) {
      at += 1;
      continue;
    }
    const token = isWordCode(code) ? readWord(text, at) : readToken(text, at, code, tokens.at(-1));
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

function readWord(text: string, start: number): SqlToken {
  let end = start + 1;
  while (end < text.length && (isWordCode(text.charCodeAt(end)) || isDigit(text.charCodeAt(end)))) end += 1;
  // To the engine the beginning of a hexadecimal or binary string, which the formatter does not write.
  if (text[end] === "'" && /^[xXbB]$/.test(text.slice(start, end))) throw unreadable(text, start);
  return plain("word", text.slice(start, end), start);
}

function readToken(text: string, at: number, code: number, before: SqlToken | undefined): SqlToken {
  if (code === 0x27 || code === 0x60) return readQuoted(text, at, text[at] as string);
  if (code === 0x7b) return readParameter(text, at);
  if (isDigit(code)) return readNumber(text, at, before?.kind === "mark" && before.value === ".");
  if (code === 0x2e && isDigit(text.charCodeAt(at + 1)) && !isOperand(before)) return readNumber(text, at, false);
  const pair = text.slice(at, at + 2);
  if (text.startsWith("<=>", at)) return plain("mark", "<=>", at);
  if (doubleMarks.has(pair)) return plain("mark", pair, at);
  if (!singleMarks.includes(text[at] as string) || pair === "--" || pair === "//" || pair === "/*")
    throw unreadable(text, at);
  return plain("mark", text[at] as string, at);
}

function readQuoted(text: string, at: number, quote: string): SqlToken {
  const source = matchAt(quotes[quote] as RegExp, text, at);
  if (source === undefined) throw unreadable(text, at);
  const content = source.slice(1, -1);
  const value = content.includes("\\") ? unescapeQuoted(content) : content;
  // The formatter writes a backslash before a quote; a doubled quote is another dialect.
  const next = text[at + source.length];
  if (next === quote) throw unreadable(text, at);
  return { kind: quote === "'" ? "string" : "quoted", value, type: "", start: at, end: at + source.length };
}

function readParameter(text: string, at: number): SqlToken {
  parameters.lastIndex = at;
  const found = parameters.exec(text);
  // `{'a':1}` is a map as the value of a setting; its strings are separate tokens.
  if (found === null) {
    if (text[at + 1] === "'" || text[at + 1] === "}") return plain("mark", "{", at);
    throw unreadable(text, at);
  }
  const [source, name, type] = found as unknown as [string, string, string];
  return { kind: "parameter", value: name, type: type.trim(), start: at, end: at + source.length };
}

/** After an operand a dot is a mark: `a.1` and `(a).1`. */
function isOperand(token: SqlToken | undefined): boolean {
  if (token === undefined || token.kind === "string" || token.kind === "parameter") return false;
  return token.kind !== "mark" || token.value === ")" || token.value === "]";
}

/**
 * `1abc` is a name for the engine and must not hide one here. After a dot only digits follow: `a.1.2` is `a . 1 . 2`.
 */
function readNumber(text: string, at: number, behindDot: boolean): SqlToken {
  const source = matchAt(behindDot ? digits : numbers, text, at);
  if (source === undefined || isWordCode(text.charCodeAt(at + source.length))) throw unreadable(text, at);
  return plain("number", source, at);
}

function isWordCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function plain(kind: CanonicalTokenKind, value: string, start: number): SqlToken {
  return { kind, value, type: "", start, end: start + value.length };
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function unreadable(text: string, at: number): UnreadableText {
  return new UnreadableText(`the statement cannot be read at ${JSON.stringify(text.slice(at, at + 40))}`, at);
}

const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  "0": "\0",
  "\\": "\\",
  "'": "'",
  "`": "`",
};

/** The formatter writes these escapes and no others (`writeAnyEscapedString` of the engine). */
function unescapeQuoted(content: string): string {
  return content.replace(/\\([\s\S])/g, (source, char: string) => {
    const value = escapes[char];
    if (value === undefined) throw new UnreadableText(`the escape ${source} is not canonical`, 0);
    return value;
  });
}
