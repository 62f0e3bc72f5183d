/**
 * `a IN t`: the engine asks for no grant on a table of the engine Set, so names in that position are looked up for
 * users with grants.
 */
import { isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";

type Tokens = readonly SqlToken[];

const membership = /^(?:global)?(?:not)?(?:null)?in(?:ignoreset)?$/i;

/** True for IN and the functions of its family, whose second argument may be a table. */
export function isMembership(name: string): boolean {
  return membership.test(name);
}

/** Keeps the last part of every name that follows IN directly, or is among the arguments in its parentheses. */
export function collectMemberships(tokens: Tokens, facts: Facts): void {
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (!isName(token) || !isMembership(token.value)) continue;
    const inParentheses = isMark(tokens[at + 1], "(");
    if (inParentheses && /^(?:SELECT|WITH)$/i.test(tokens[at + 2]?.value ?? "")) continue;
    for (let next = inParentheses ? at + 2 : at + 1; next < tokens.length; next += 1) {
      const argument = tokens[next];
      if (isName(argument) && !isMark(tokens[next + 1], ".")) facts.memberships.add(argument.value);
      else if (argument?.kind === "parameter" && argument.type === "Identifier")
        facts.memberParameters.add(argument.value);
      if (isMark(argument, ")") || (!inParentheses && !isMark(tokens[next + 1], ".") && !isMark(argument, "."))) break;
    }
  }
}
