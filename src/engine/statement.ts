/**
 * Takes a client's text apart: what kind of statement it is, where the data of an INSERT begins, and where the place
 * of the output goes. Works on tokens only. What it gets wrong can cause an error, never a file access: the host asks
 * the engine's own parser as well, and `guard.ts` looks at every statement.
 */
import { clickHouseException } from "../clickhouse/exception.ts";
import { isPunctuation, isWord, type Token, tokenAt, tokenize } from "../clickhouse/lexer.ts";

export type InsertStatement = {
  readonly kind: "insert";
  /** `INSERT INTO t (a, b)`: everything before SETTINGS, VALUES or FORMAT. */
  readonly target: string;
  /** `SETTINGS ...` or empty. */
  readonly settings: string;
  readonly format: string;
  /** Where in the text (in characters) the data begins. */
  readonly dataStart: number;
  /** `INSERT INTO t SELECT ... FROM input('structure')`: the call in `target` that stands for the data. */
  readonly input?: InputCall;
};

export type InputCall = { readonly start: number; readonly end: number; readonly structure: string };

export type SelectStatement = {
  readonly kind: "select";
  /** Up to where `INTO OUTFILE` belongs. */
  readonly before: string;
  /** What follows that place: the statement's own FORMAT and SETTINGS, or empty. */
  readonly after: string;
  /** The format named in the statement. */
  readonly format: string | undefined;
};

export type OtherStatement = {
  readonly kind: "other";
  readonly text: string;
  /** The first word in capitals. */
  readonly verb: string;
  readonly format: string | undefined;
};

export type Statement = InsertStatement | SelectStatement | OtherStatement;

/**
 * Reads the head of an INSERT. Returns undefined when the text is no INSERT, or one without inline data; "incomplete"
 * when the text ended before that was clear. `final` says that no more text will come.
 */
export function readInsert(text: string, final: boolean): InsertStatement | "incomplete" | undefined {
  const found = readInsertHead(text);
  if (found === "incomplete" || found === undefined || final) return found;
  // The last word may go on in the next chunk, and so may the line end in front of the data.
  return found.dataStart < text.length ? found : "incomplete";
}

function readInsertHead(text: string): InsertStatement | "incomplete" | undefined {
  const first = tokenAt(text, 0);
  if (first === undefined) return "incomplete";
  if (!isWord(first, "INSERT")) return undefined;
  const cursor = new Cursor(text, first.end);
  const target = skipInsertTarget(cursor);
  if (target !== "found") return target === "incomplete" ? "incomplete" : undefined;
  let settingsStart: number | undefined;
  for (;;) {
    const token = cursor.next();
    if (token === undefined) return "incomplete";
    if (isPunctuation(token, "(")) {
      if (isSelectStart(cursor.peek())) return readInsertSelect(text, cursor, 1);
      if (!cursor.skipParentheses()) return "incomplete";
    } else if (isWord(token, "SETTINGS")) settingsStart ??= token.start;
    else if (isWord(token, "VALUES")) return insertParts(text, settingsStart, token, "Values", token.end);
    else if (isWord(token, "FORMAT")) {
      const name = cursor.next();
      if (name === undefined) return "incomplete";
      return insertParts(text, settingsStart, token, name.value, name.end);
    } else if (isSelectStart(token)) return readInsertSelect(text, cursor, 0);
    else if (isWord(token, "WATCH") || isPunctuation(token, ";")) return undefined;
  }
}

/** Within this much text an INSERT SELECT must name `input(...)` if it reads the request's data. */
const inputSearchChars = 1_048_576;

/** Goes on behind the first SELECT of an INSERT: data follows only if `input(...)` is read. */
function readInsertSelect(text: string, cursor: Cursor, open: number): InsertStatement | "incomplete" | undefined {
  let depth = open;
  let input: InputCall | undefined;
  let settingsStart: number | undefined;
  let before: Token | undefined;
  for (;;) {
    const token = cursor.next();
    if (token === undefined) return input === undefined && text.length > inputSearchChars ? undefined : "incomplete";
    if (isPunctuation(token, "(")) depth += 1;
    else if (isPunctuation(token, ")")) depth -= 1;
    else if (isPunctuation(token, ";")) return undefined;
    else if (depth === 0 && isWord(token, "SETTINGS")) settingsStart = token.start;
    if (isWord(token, "INPUT") && isPunctuation(cursor.peek(), "(") && isFromOrJoin(before)) {
      if (input !== undefined) throw clickHouseException("BAD_ARGUMENTS", "Function input can be called once.");
      const call = readInputCall(cursor, token.start);
      if (call === "incomplete") return call;
      input = call;
    } else if (depth === 0 && input !== undefined && isWord(token, "FORMAT") && !expectsOperandBehind(before)) {
      const name = cursor.next();
      if (name === undefined) return "incomplete";
      return { ...insertParts(text, settingsStart, token, name.value, name.end), input };
    }
    before = token;
  }
}

function readInputCall(cursor: Cursor, start: number): InputCall | "incomplete" {
  cursor.next();
  const structure = cursor.next();
  const close = cursor.next();
  if (structure === undefined || close === undefined) return "incomplete";
  if (structure.kind !== "string" || !isPunctuation(close, ")")) {
    throw clickHouseException("BAD_ARGUMENTS", "Table function input needs its structure as one string literal.");
  }
  return { start, end: close.end, structure: structure.value };
}

function isFromOrJoin(token: Token | undefined): boolean {
  return isWord(token, "FROM") || isWord(token, "JOIN") || isPunctuation(token, ",");
}

/** True when an expression must follow, so that FORMAT there is a column's name. */
function expectsOperandBehind(token: Token | undefined): boolean {
  if (token?.kind === "word") return expectsOperand.has(token.text.toUpperCase());
  return token?.kind === "punctuation" && !/^[)\]}*]$/.test(token.text);
}

/** Takes a complete statement apart that carries no inline data. `text` must hold exactly one statement. */
export function readStatement(text: string): SelectStatement | OtherStatement {
  const tokens = tokenize(text);
  while (isPunctuation(tokens.at(-1), ";")) tokens.pop();
  if (tokens.length === 0) throw clickHouseException("SYNTAX_ERROR", "Syntax error: empty query.");
  if (tokens.some((token) => isPunctuation(token, ";"))) {
    throw clickHouseException("SYNTAX_ERROR", "Syntax error: multi-statements are not allowed.");
  }
  const last = tokens.at(-1) as Token;
  const formatAt = formatClause(tokens);
  const format = formatAt === undefined ? undefined : tokens[formatAt + 1]?.value;
  const start = tokens.find((token) => !isPunctuation(token, "("));
  if (!isSelectStart(start) || isInsertAfterWith(tokens)) {
    return { kind: "other", text: text.slice(0, last.end), verb: tokens[0]?.text.toUpperCase() ?? "", format };
  }
  const cut = formatAt === undefined ? last.end : (tokens[formatAt] as Token).start;
  return { kind: "select", before: text.slice(0, cut), after: text.slice(cut, last.end), format };
}

function insertParts(
  text: string,
  settingsStart: number | undefined,
  keyword: Token,
  format: string,
  end: number,
): InsertStatement {
  const targetEnd = settingsStart ?? keyword.start;
  const target = text.slice(0, targetEnd);
  return {
    kind: "insert",
    target,
    settings: settingsStart === undefined ? "" : text.slice(settingsStart, keyword.start),
    format,
    dataStart: isWord(keyword, "VALUES") ? end : afterFormat(text, end),
  };
}

/** The data starts after the blanks behind the format's name and at most one line end. */
function afterFormat(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\f") at += 1;
  if (text[at] === "\r") at += 1;
  if (text[at] === "\n") at += 1;
  return at;
}

/** Moves behind `INSERT [INTO] [TABLE] name` or `INSERT INTO [TABLE] FUNCTION f(...)`. */
function skipInsertTarget(cursor: Cursor): "found" | "incomplete" | "other" {
  if (isWord(cursor.peek(), "INTO")) cursor.next();
  if (isWord(cursor.peek(), "TABLE")) cursor.next();
  if (isWord(cursor.peek(), "FUNCTION")) {
    cursor.next();
    if (cursor.next() === undefined) return "incomplete";
    if (!isPunctuation(cursor.peek(), "(")) return cursor.peek() === undefined ? "incomplete" : "found";
    cursor.next();
    return cursor.skipParentheses() ? "found" : "incomplete";
  }
  const name = cursor.next();
  if (name === undefined) return "incomplete";
  if (isPunctuation(name, "(")) return "other";
  while (isPunctuation(cursor.peek(), ".")) {
    cursor.next();
    if (cursor.next() === undefined) return "incomplete";
  }
  return "found";
}

function isSelectStart(token: Token | undefined): boolean {
  return isWord(token, "SELECT") || isWord(token, "WITH") || isWord(token, "FROM");
}

/** `WITH ... INSERT INTO ...` is an insert. */
function isInsertAfterWith(tokens: readonly Token[]): boolean {
  return (
    isWord(tokens[0], "WITH") && tokens.some((token, i) => isWord(token, "INSERT") && isWord(tokens[i + 1], "INTO"))
  );
}

/** Words that need an expression behind them: a FORMAT there is a column's name. */
const expectsOperand = new Set(
  "SELECT DISTINCT BY WHERE PREWHERE HAVING QUALIFY AND OR NOT ON IN LIKE ILIKE WHEN THEN ELSE CASE AS BETWEEN USING FROM JOIN LIMIT OFFSET INTERVAL WITH SET".split(
    " ",
  ),
);

/** The index of the statement's own FORMAT clause: `FORMAT name` at the end, or before the last SETTINGS. */
function formatClause(tokens: readonly Token[]): number | undefined {
  let depth = 0;
  for (let at = tokens.length - 1; at > 0; at -= 1) {
    const token = tokens[at] as Token;
    if (isPunctuation(token, ")") || isPunctuation(token, "]")) depth += 1;
    else if (isPunctuation(token, "(") || isPunctuation(token, "[")) depth -= 1;
    if (depth !== 0 || !isWord(token, "FORMAT")) continue;
    const name = tokens[at + 1];
    const behind = tokens[at + 2];
    const nameFits = name?.kind === "word" || name?.kind === "quotedIdentifier";
    if (!nameFits || (behind !== undefined && !isWord(behind, "SETTINGS"))) continue;
    if (!expectsOperandBehind(tokens[at - 1])) return at;
  }
  return undefined;
}

/** Walks tokens without reading further than needed: what follows the head may be megabytes of data. */
class Cursor {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  peek(): Token | undefined {
    return tokenAt(this.#text, this.#at);
  }

  next(): Token | undefined {
    const token = this.peek();
    if (token !== undefined) this.#at = token.end;
    return token;
  }

  /** After an opening parenthesis: moves behind its closing one; false when the text ends first. */
  skipParentheses(): boolean {
    for (let depth = 1; depth > 0; ) {
      const token = this.next();
      if (token === undefined) return false;
      if (isPunctuation(token, "(")) depth += 1;
      else if (isPunctuation(token, ")")) depth -= 1;
    }
    return true;
  }
}

/**
 * Lets a client see and kill queries by the ids that it gave them: the engine gives every query an id of its own, and
 * ours travels in a setting. `expression` is what stands for the id.
 */
export function withClientQueryIds(text: string, expression: string): string {
  if (!/processes|kill/i.test(text)) return text;
  const tokens = tokenize(text);
  const kill = isWord(tokens[0], "KILL") && isWord(tokens[1], "QUERY");
  let out = "";
  let at = 0;
  for (const [i, token] of tokens.entries()) {
    const table = isWord(token, "system") && isPunctuation(tokens[i + 1], ".") && isWord(tokens[i + 2], "processes");
    if (table) {
      const end = (tokens[i + 2] as Token).end;
      out += `${text.slice(at, token.start)}(SELECT * REPLACE (${expression} AS query_id) FROM system.processes)`;
      if (!aliased(tokens[i + 3])) out += " AS processes";
      at = end;
    } else if (kill && isWord(token, "query_id")) {
      out += `${text.slice(at, token.start)}(${expression})`;
      at = token.end;
    }
  }
  return out + text.slice(at);
}

function aliased(token: Token | undefined): boolean {
  const clause =
    "WHERE PREWHERE GROUP ORDER LIMIT FORMAT SETTINGS UNION HAVING JOIN INNER LEFT RIGHT FULL CROSS ANY ALL GLOBAL FINAL SAMPLE WINDOW QUALIFY INTERSECT EXCEPT OFFSET ARRAY ASOF INTO";
  if (token === undefined || token.kind === "punctuation") return false;
  return !clause.split(" ").includes(token.text.toUpperCase());
}
