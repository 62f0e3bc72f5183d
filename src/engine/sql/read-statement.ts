/** All rules, applied to the canonical text of one statement. */
import { isAccessStatement, readAccess } from "./access/read-access.ts";
import { judgeCalls } from "./rules/calls.ts";
import { judgeDefinition, judgeRights } from "./rules/definitions.ts";
import { emptyFacts, type Facts } from "./rules/facts.ts";
import { takesDisk } from "./rules/growth.ts";
import { readKind, refuseSecondStatement } from "./rules/kinds.ts";
import { collectMemberships } from "./rules/membership.ts";
import { refuse } from "./rules/refusal.ts";
import { judgeSettingClauses } from "./rules/settings.ts";
import { collectFilePaths } from "./rules/table-names.ts";
import { breakingQuote, type QuotedRange, unquoted } from "./text/quotes.ts";
import { isKeyword, partners } from "./text/scan.ts";
import { readCanonical, type SqlToken, UnreadableText } from "./text/tokens.ts";

/** More user-defined tables or functions than any statement has; each costs a query to the engine. */
const maxUnknown = 200;

/** The client's own text (latin1), and where its names and texts in quotes are. */
export type OwnText = { readonly text: string; readonly quotes: readonly QuotedRange[] };

/**
 * The facts of a canonical text, except those that need the engine (`Facts.unknown`, `Facts.nested`). Throws the
 * client's exception when the text contains something that is not available.
 */
export function readStatement(canonical: string): Facts {
  return readable(() => readTokens(readCanonical(canonical)));
}

/** The same with the tokens, which are compared with the quotes of the client's own text. */
export function readOwnStatement(canonical: string, own: OwnText): { facts: Facts; tokens: readonly SqlToken[] } {
  return readable(() => {
    const tokens = readCanonical(canonical);
    if (!isAccessStatement(tokens)) compareQuotes(own, tokens);
    return { facts: readTokens(tokens), tokens };
  });
}

/** The client's exception in place of `UnreadableText`. */
export function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableText)
      refuse(`The guard of this interface cannot read the statement: ${error.message}.`);
    throw error;
  }
}

function readTokens(tokens: readonly SqlToken[]): Facts {
  if (isAccessStatement(tokens)) {
    readAccess(tokens);
    return { ...emptyFacts("access", false), access: (parameters) => readAccess(tokens, parameters) };
  }
  refuseSecondStatement(tokens);
  const facts = readKind(tokens);
  facts.takesDisk = takesDisk(facts.kind, tokens);
  const pairs = partners(tokens);
  const skipped = facts.kind === "define" ? judgeDefinition(tokens, pairs, facts) : new Set<number>();
  if (facts.kind === "define" || facts.kind === "change") judgeRights(tokens);
  judgeFiles(tokens);
  collectFilePaths(tokens, facts);
  collectMemberships(tokens, facts);
  judgeSettingClauses(tokens, pairs, facts);
  judgeCalls(tokens, pairs, facts, skipped);
  if (facts.unknown.size > 0) forgetLambdas(tokens, facts);
  if (facts.unknown.size > maxUnknown) refuse("The statement calls too many functions that are not the engine's.");
  return facts;
}

/** BETWEEN and INTERPOLATE hold a name twice in the canonical text. */
function compareQuotes({ text, quotes }: OwnText, tokens: readonly SqlToken[]): void {
  const exactly = tokens.some((token) => isKeyword(token, "APPLY") || isKeyword(token, "DICTIONARY"));
  const missing = unquoted(text, quotes, tokens, { exactly }) ?? (exactly ? twice(text, quotes) : undefined);
  if (missing === undefined) return;
  refuse(`The guard of this interface cannot follow the quotes of ${JSON.stringify(missing.slice(0, 100))}.`);
}

/** Where two tokens may stand for one, a count does not show that the formatter has left out the quotes of another. */
function twice(text: string, quotes: readonly QuotedRange[]): string | undefined {
  const code = [...quotes, [text.length, 0] as const].map(([start], at) => text.slice(quotes[at - 1]?.[1] ?? 0, start));
  return /\b(?:between|interpolate)\b/i.test(code.join(" ")) ? breakingQuote(text, quotes) : undefined;
}

/**
 * Throws for a name or text that could end a quote of the canonical text. The tree leaves out what APPLY applies, so in
 * such a statement the canonical text must hold nothing as a text that is code, wherever the formatter leaves out
 * quotes.
 */
export function refuseBreakingQuotes({ text, quotes }: OwnText): void {
  const found = breakingQuote(text, quotes);
  if (found === undefined) return;
  refuse(
    `A statement with APPLY cannot hold a name or text with a quote, a brace or a backslash at its end: ${JSON.stringify(found.slice(0, 100))}.`,
  );
}

/** `x -> x + 1 AS f` defines a function for this statement. */
function forgetLambdas(tokens: readonly SqlToken[], facts: Facts): void {
  for (let at = 1; at < tokens.length; at += 1) {
    const { value } = tokens[at] as SqlToken;
    if (isKeyword(tokens[at - 1], "AS") && facts.unknown.delete(value)) facts.lambdas.add(value);
  }
}

/** `INTO OUTFILE 'x'` and `FROM INFILE 'x'`; a string never follows a table of these names. */
function judgeFiles(tokens: readonly SqlToken[]): void {
  for (let at = 0; at < tokens.length - 2; at += 1) {
    const token = tokens[at];
    if (token?.kind !== "word") continue;
    const next = tokens[at + 1];
    const path = tokens[at + 2];
    const files =
      (isKeyword(token, "INTO") && isKeyword(next, "OUTFILE")) ||
      (isKeyword(token, "FROM") && isKeyword(next, "INFILE"));
    if (files && (path?.kind === "string" || path?.kind === "parameter")) {
      refuse("INTO OUTFILE and FROM INFILE are not available: send or save the data with the client.");
    }
  }
}
