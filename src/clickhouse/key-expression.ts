/**
 * Checks a partition or primary key expression that comes from a caller: columns of the table, constants, arithmetic
 * and a list of harmless functions. Everything else is refused, so the expression cannot read or run anything.
 */
import { isPunctuation, tokenize } from "./lexer.ts";

const functions = new Set(
  [
    "tuple toYYYYMM toYYYYMMDD toYear toQuarter toMonth toDayOfMonth toDayOfWeek toHour toMinute",
    "toDate toDate32 toDateTime toDateTime64 toUnixTimestamp toMonday toStartOfYear toStartOfQuarter toStartOfMonth",
    "toStartOfWeek toStartOfDay toStartOfHour toStartOfMinute toStartOfFiveMinutes toStartOfTenMinutes",
    "toStartOfFifteenMinutes toStartOfInterval toRelativeDayNum toRelativeHourNum intDiv modulo positiveModulo",
    "cityHash64 sipHash64 xxHash64 murmurHash3_64 halfMD5 lower upper length substring toString toUInt8 toUInt16 toUInt32",
    "toUInt64 toInt8 toInt16 toInt32 toInt64 abs coalesce ifNull",
  ]
    .join(" ")
    .split(" "),
);

const symbols = new Set(["(", ")", ",", "+", "-", "*", "/", "%"]);

/** What is wrong with the expression, or undefined when it is a permitted one over the given columns. */
export function keyExpressionProblem(text: string, columns: ReadonlySet<string>): string | undefined {
  const tokens = tokenize(text);
  if (tokens.length === 0) return "is empty";
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const called = isPunctuation(tokens[index + 1], "(");
    if (token.kind === "word" && called) {
      if (!functions.has(token.text)) return `uses ${token.text}(), which is not among the permitted functions`;
    } else if (token.kind === "word" || token.kind === "quotedIdentifier") {
      if (!columns.has(token.value)) return `names ${token.value}, which is not a column of the table`;
    } else if (token.kind === "punctuation") {
      if (!symbols.has(token.text)) return `holds ${token.text}, which is not permitted`;
      depth += token.text === "(" ? 1 : token.text === ")" ? -1 : 0;
      if (depth < 0) return "closes a parenthesis that was not opened";
    } else if (token.kind !== "number" && token.kind !== "string") return `holds ${token.text}, which is not permitted`;
  }
  return depth === 0 ? undefined : "does not close a parenthesis";
}
