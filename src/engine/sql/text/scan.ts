/** Predicates and searches over the tokens of a canonical text. */
import { type SqlToken, UnreadableText } from "./tokens.ts";

type Tokens = readonly SqlToken[];

/** The formatter writes keywords in capitals and without quotes. */
export function isKeyword(token: SqlToken | undefined, word: string): boolean {
  return token?.kind === "word" && token.value === word;
}

export function isMark(token: SqlToken | undefined, mark: string): boolean {
  return token?.kind === "mark" && token.value === mark;
}

/** A bare or quoted identifier; keywords are bare words too. */
export function isName(token: SqlToken | undefined): token is SqlToken {
  return token?.kind === "word" || token?.kind === "quoted";
}

/** True when the name at `at` takes arguments: the formatter leaves no space before their parenthesis. */
export function isCall(tokens: Tokens, at: number): boolean {
  const token = tokens[at];
  const next = tokens[at + 1];
  return isName(token) && isMark(next, "(") && next?.start === token.end;
}

/**
 * The index of the partner of every opening parenthesis, bracket or brace. Linear, so every later lookup is cheap.
 * Throws `UnreadableText` when one has no partner, which the formatter never writes.
 */
export function partners(tokens: Tokens): Int32Array {
  const found = new Int32Array(tokens.length);
  const open: number[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as SqlToken;
    if (token.kind !== "mark") continue;
    const { value } = token;
    if (value === "(" || value === "[" || value === "{") open.push(at);
    else if (value === ")" || value === "]" || value === "}") {
      const from = open.pop();
      if (from === undefined) throw new UnreadableText("a parenthesis has no partner", token.start);
      found[from] = at;
    }
  }
  const last = open.pop();
  if (last !== undefined) throw new UnreadableText("a parenthesis has no partner", (tokens[last] as SqlToken).start);
  return found;
}

/** The arguments between the parenthesis at `open` and its partner, as half-open ranges of indices. */
export function argumentRanges(tokens: Tokens, pairs: Int32Array, open: number): [number, number][] {
  const close = pairs[open] as number;
  const ranges: [number, number][] = [];
  let from = open + 1;
  for (let at = open + 1; at < close; at += 1) {
    const token = tokens[at] as SqlToken;
    if (token.kind !== "mark") continue;
    if (token.value === ",") {
      ranges.push([from, at]);
      from = at + 1;
    } else if (pairs[at] !== 0) at = pairs[at] as number;
  }
  if (close > open + 1) ranges.push([from, close]);
  return ranges;
}
