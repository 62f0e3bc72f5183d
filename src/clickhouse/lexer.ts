/**
 * Splits a ClickHouse SQL text into tokens, following the engine's own lexical rules: comments (`--`, `//`, `#!`, `# `,
 * nested block comments), strings with backslash and doubled-quote escapes, curly quotes, quoted identifiers, numbers,
 * heredocs. Bare words are ASCII, and any other character outside quotes separates two words, as in the engine. Guards
 * (no INFILE, no second statement, no table function) inspect tokens and never search text.
 */

export type TokenKind =
  | "word"
  | "quotedIdentifier"
  | "string"
  | "number"
  | "parameter"
  | "punctuation"
  | "unterminated";

export type Token = {
  readonly kind: TokenKind;
  /** The source text of the token. */
  readonly text: string;
  /** Identifier or string content with escapes resolved; same as `text` for other kinds. */
  readonly value: string;
  /** Offsets into the source, end exclusive. */
  readonly start: number;
  readonly end: number;
};

const wordStart = /[A-Za-z_$]/;
const wordPart = /[A-Za-z0-9_$]/;
const lineComments = ["--", "//", "#!", "# "];
const curlyQuotes: Readonly<Record<string, { close: string; kind: TokenKind }>> = {
  "\u2018": { close: "\u2019", kind: "string" },
  "\u201c": { close: "\u201d", kind: "quotedIdentifier" },
};
const operators = ["<=>", "->", "::", "||", "<=", ">=", "==", "!=", "<>", "@@"];

/** Each may need a search through the rest of the text. No real statement has that many. */
const maxHeredocs = 100;

/**
 * Every token up to the end of the text, without comments and white space. Never throws, in linear time: from the 101st
 * beginning of a heredoc on, closed or not, the rest of the text is `unterminated`.
 */
export function tokenize(sql: string): Token[] {
  const tokens: Token[] = [];
  let heredocs = 0;
  for (let at = 0; at < sql.length; ) {
    const next = skipSpace(sql, at);
    if (next >= sql.length) break;
    if (heredocAt(sql, next) !== undefined) heredocs += 1;
    const found = heredocs > maxHeredocs ? token("unterminated", sql, next, sql.length) : nextToken(sql, next);
    tokens.push(found);
    at = found.end;
  }
  return tokens;
}

/** True for an unquoted word equal to `word`, ignoring case. */
export function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === "word" && token.text.toUpperCase() === word.toUpperCase();
}

export function isPunctuation(token: Token | undefined, text: string): boolean {
  return token?.kind === "punctuation" && token.text === text;
}

function skipSpace(sql: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < sql.length && isSpace(sql.charCodeAt(at))) at += 1;
    if (lineComments.some((start) => sql.startsWith(start, at))) {
      const end = sql.indexOf("\n", at);
      at = end < 0 ? sql.length : end + 1;
    } else if (sql.startsWith("/*", at)) {
      const end = blockCommentEnd(sql, at);
      if (end < 0) return at;
      at = end;
    } else return at;
  }
}

/** The end of the block comment that starts at `start`, or -1. Block comments nest. */
function blockCommentEnd(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at + 1 < sql.length; ) {
    const pair = sql.slice(at, at + 2);
    if (pair === "/*") depth += 1;
    else if (pair === "*/") depth -= 1;
    at += pair === "/*" || pair === "*/" ? 2 : 1;
    if (depth === 0) return at;
  }
  return -1;
}

function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return code === 0x85 || code === 0xa0 || code === 0x180e || isWideSpace(code);
}

function isWideSpace(code: number): boolean {
  return (code >= 0x2000 && code <= 0x200d) || [0x2028, 0x2029, 0x202f, 0x205f, 0x2060, 0x3000, 0xfeff].includes(code);
}

function nextToken(sql: string, start: number): Token {
  const char = sql[start] as string;
  if (char === "'") return quoted(sql, start, "'", "string");
  if (char === "`" || char === '"') return quoted(sql, start, char, "quotedIdentifier");
  const curly = curlyQuotes[char];
  if (curly) {
    const close = sql.indexOf(curly.close, start + 1);
    if (close < 0) return token("unterminated", sql, start, sql.length);
    return {
      kind: curly.kind,
      text: sql.slice(start, close + 1),
      value: sql.slice(start + 1, close),
      start,
      end: close + 1,
    };
  }
  if (/[xXbB]/.test(char) && sql[start + 1] === "'") {
    return digitString(sql, start);
  }
  if (sql.startsWith("/*", start)) return token("unterminated", sql, start, sql.length);
  const tag = heredocAt(sql, start);
  const close = tag === undefined ? -1 : sql.indexOf(tag, start + tag.length);
  if (tag !== undefined && close >= 0) {
    const end = close + tag.length;
    return { kind: "string", text: sql.slice(start, end), value: sql.slice(start + tag.length, close), start, end };
  }
  if (char === "{") {
    const parameter = /^\{\s*[A-Za-z_][A-Za-z0-9_]*\s*:[^{}]*\}/.exec(sql.slice(start, start + 1000));
    if (parameter) return token("parameter", sql, start, start + parameter[0].length);
  }
  if (/[0-9]/.test(char) || (char === "." && /[0-9]/.test(sql[start + 1] ?? ""))) return number(sql, start);
  if (wordStart.test(char)) {
    let end = start + 1;
    while (end < sql.length && wordPart.test(sql[end] as string)) end += 1;
    return token("word", sql, start, end);
  }
  const operator = operators.find((op) => sql.startsWith(op, start));
  return token("punctuation", sql, start, start + (operator?.length ?? 1));
}

/** `$tag$` where a heredoc may begin; if the tag does not recur it is a word. */
function heredocAt(sql: string, start: number): string | undefined {
  if (sql[start] !== "$") return undefined;
  return /^\$[A-Za-z0-9_]*\$/.exec(sql.slice(start, start + 130))?.[0];
}

/** `x'4142'` and `b'01000001'`: a string written as digits. */
function digitString(sql: string, start: number): Token {
  const digits = /^(?:[xX]'([0-9A-Fa-f]*)'|[bB]'([01]*)')/.exec(sql.slice(start));
  if (!digits) return token("unterminated", sql, start, sql.length);
  const end = start + digits[0].length;
  const pattern = digits[1] === undefined ? /[01]{1,8}/g : /../g;
  const radix = digits[1] === undefined ? 2 : 16;
  const bytes = ((digits[1] ?? digits[2]) as string).match(pattern) ?? [];
  const value = bytes.map((byte) => String.fromCharCode(Number.parseInt(byte, radix))).join("");
  return { kind: "string", text: sql.slice(start, end), value, start, end };
}

function quoted(sql: string, start: number, quote: string, kind: TokenKind): Token {
  let value = "";
  for (let at = start + 1; at < sql.length; at += 1) {
    const char = sql[at] as string;
    if (char === "\\" && at + 1 < sql.length) {
      const hex = /^x([0-9A-Fa-f]{2})/.exec(sql.slice(at + 1, at + 4));
      at += hex ? 3 : 1;
      value += hex ? String.fromCharCode(Number.parseInt(hex[1] as string, 16)) : resolveEscape(sql[at] as string);
    } else if (char === quote) {
      if (sql[at + 1] !== quote) return { kind, text: sql.slice(start, at + 1), value, start, end: at + 1 };
      at += 1;
      value += quote;
    } else value += char;
  }
  return token("unterminated", sql, start, sql.length);
}

function resolveEscape(char: string): string {
  const escapes: Record<string, string> = {
    n: "\n",
    t: "\t",
    r: "\r",
    b: "\b",
    f: "\f",
    "0": "\0",
    a: "\x07",
    v: "\v",
  };
  return escapes[char] ?? char;
}

function number(sql: string, start: number): Token {
  const match =
    /^(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?)/.exec(
      sql.slice(start, start + 400),
    );
  let end = start + (match?.[0].length ?? 1);
  // `1abc` is one word for the engine (an identifier may start with a digit), so it must not hide a word here.
  let kind: TokenKind = "number";
  while (end < sql.length && wordPart.test(sql[end] as string)) {
    end += 1;
    kind = "word";
  }
  return token(kind, sql, start, end);
}

function token(kind: TokenKind, sql: string, start: number, end: number): Token {
  const text = sql.slice(start, end);
  return { kind, text, value: text, start, end };
}
