/**
 * Small grammars for the SQL fragments that a caller may write: column types and table expressions. Accepted fragments
 * can name columns and call a few pure functions, and nothing else: no subquery, no table function, no second clause.
 */
import { type Token, tokenize } from "./lexer.ts";

/** Functions that a partition or primary key may call. */
const keyFunctions = new Set(
  (
    "toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss toYear toQuarter toMonth toWeek toYearWeek toISOYear toISOWeek toDayOfMonth " +
    "toDayOfWeek toDayOfYear toHour toMinute toSecond toMonday toStartOfYear toStartOfQuarter toStartOfMonth " +
    "toStartOfWeek toStartOfDay toStartOfHour toStartOfMinute toStartOfSecond toStartOfFiveMinutes " +
    "toStartOfTenMinutes toStartOfFifteenMinutes toStartOfInterval toIntervalSecond toIntervalMinute toIntervalHour " +
    "toIntervalDay toIntervalWeek toIntervalMonth toDate toDate32 toDateTime toDateTime64 toUnixTimestamp " +
    "toUnixTimestamp64Milli toString toInt8 toInt16 toInt32 toInt64 toUInt8 toUInt16 toUInt32 toUInt64 " +
    "intDiv modulo moduloLegacy positiveModulo cityHash64 sipHash64 xxHash64 intHash32 intHash64 farmHash64 " +
    "murmurHash3_64 lower upper substring length left right concat tuple if ifNull assumeNotNull coalesce abs floor " +
    "ceil round plus minus multiply greatest least bitAnd bitShiftRight"
  )
    .split(" ")
    .map((name) => name.toLowerCase()),
);

const keyOperators = new Set(["+", "-", "*", "/", "%", ",", "(", ")", "=", "<", ">", "<=", ">=", "!=", "<>", "=="]);

/** The error of a partition or primary key expression; undefined when it may be part of a statement. */
export function tableExpressionProblem(text: string, columns: ReadonlySet<string>): string | undefined {
  const tokens = tokenize(text);
  if (tokens.length === 0) return "is empty";
  if (hasComment(text, tokens)) return "must not contain a comment";
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.text === "(") depth += 1;
    if (token.text === ")") depth -= 1;
    if (depth < 0) return "has a closing parenthesis without an opening one";
    const problem = keyTokenProblem(token, tokens[at + 1], columns);
    if (problem !== undefined) return problem;
  }
  return depth === 0 ? undefined : "has an opening parenthesis without a closing one";
}

/** True when there is a comment between tokens. An unclosed comment would hide the rest of the statement. */
function hasComment(text: string, tokens: readonly Token[]): boolean {
  const ends = [0, ...tokens.map(({ end }) => end)];
  return ends.some((end, index) => text.slice(end, tokens[index]?.start).trim() !== "");
}

function keyTokenProblem(token: Token, next: Token | undefined, columns: ReadonlySet<string>): string | undefined {
  const called = next?.text === "(";
  switch (token.kind) {
    case "number":
    case "string":
      return called ? `cannot call ${token.text}` : undefined;
    case "punctuation":
      if (!keyOperators.has(token.text)) return `must not contain ${JSON.stringify(token.text)}`;
      return undefined;
    case "word":
    case "quotedIdentifier":
      if (called) {
        const known = token.kind === "word" && keyFunctions.has(token.text.toLowerCase());
        return known ? undefined : `must not call the function ${token.text}`;
      }
      if (next?.kind === "word" || next?.kind === "quotedIdentifier" || next?.kind === "string") {
        return `must not contain ${token.text} ${next.text}`;
      }
      return columns.has(token.value) ? undefined : `names ${token.text}, which is not a destination column`;
    default:
      return `must not contain ${token.text.slice(0, 40)}`;
  }
}

const typeWord = /^[A-Za-z][A-Za-z0-9_]*$/;
const maxTypeDepth = 32;

/** The error of a column type; undefined when it may be part of a statement. */
export function columnTypeProblem(text: string): string | undefined {
  const tokens = tokenize(text);
  if (hasComment(text, tokens)) return "must not contain a comment";
  const end = readType(tokens, 0, 0);
  if (typeof end === "string") return end;
  return end === tokens.length ? undefined : `must not contain ${(tokens[end] as Token).text.slice(0, 40)}`;
}

/** Reads `Name` or `Name(argument, ...)`; returns the index after it, or an error. */
function readType(tokens: readonly Token[], at: number, depth: number): number | string {
  const name = tokens[at];
  if (depth > maxTypeDepth) return "is nested too deeply";
  if (name?.kind !== "word" || !typeWord.test(name.text)) return "is not the name of a type";
  if (tokens[at + 1]?.text !== "(") return at + 1;
  let next = at + 2;
  if (tokens[next]?.text === ")") return next + 1;
  for (;;) {
    const end = readArgument(tokens, next, depth);
    if (typeof end === "string") return end;
    const separator = tokens[end]?.text;
    if (separator === ")") return end + 1;
    if (separator !== ",") return "has arguments that are not separated by commas";
    next = end + 1;
  }
}

/** A type, `name Type`, a number, a string, `'name' = number` or `name = number`. */
function readArgument(tokens: readonly Token[], at: number, depth: number): number | string {
  const first = tokens[at];
  const second = tokens[at + 1];
  if (first === undefined) return "ends too early";
  if (first.kind === "string" || (first.kind === "word" && second?.text === "=")) {
    return second?.text === "=" ? readNumber(tokens, at + 2) : at + 1;
  }
  if (first.kind === "number" || first.text === "-") return readNumber(tokens, at);
  const named = second?.kind === "word" && (first.kind === "word" || first.kind === "quotedIdentifier");
  return readType(tokens, named ? at + 1 : at, depth + 1);
}

function readNumber(tokens: readonly Token[], at: number): number | string {
  const behindSign = tokens[at]?.text === "-" ? at + 1 : at;
  return tokens[behindSign]?.kind === "number" ? behindSign + 1 : "has an argument that is not a number";
}
