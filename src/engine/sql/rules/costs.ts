/**
 * Texts that cost the engine's parser far more than their length, in a thread that cannot be stopped. They are refused
 * before the engine sees them; they have no legitimate use.
 */
import { plainTokenAt } from "../text/plain-text.ts";
import { refuse } from "./refusal.ts";

/** About a third of a second in the engine's lexer. */
const maxHeredocSteps = 60_000_000;

/** Maximum depth of BETWEEN in the subject of BETWEEN; each level doubles the cost. */
const maxBetweenDepth = 12;

/** Throws for such a text (latin1). Linear time. */
export function refuseCostly(text: string): void {
  refuseManyDollars(text);
  const betweens = text.match(/\bbetween\b/gi)?.length ?? 0;
  if (betweens > maxBetweenDepth && betweenDepth(text) > maxBetweenDepth) refuse("BETWEEN is nested too deeply.");
}

/**
 * The engine searches the rest of the text for the end of each heredoc that may begin at a dollar sign, so its time is
 * quadratic: 18 seconds for 128 KiB of dollar signs.
 */
function refuseManyDollars(text: string): void {
  let dollars = 0;
  for (let at = text.indexOf("$"); at >= 0; at = text.indexOf("$", at + 1)) dollars += 1;
  if (dollars * text.length > maxHeredocSteps) refuse("The statement has too many dollar signs for its length.");
}

/** Words and marks after which another operand begins. The AND of a BETWEEN is not one of them. */
const separators =
  /^(?:and|or|select|from|where|prewhere|having|by|on|when|then|else|limit|settings|union|with|values|using|as|,)$/;

type Level = {
  /** BETWEENs in the current operand. */
  depth: number;
  /** The maximum over the operands of this level. */
  most: number;
  /** BETWEENs whose AND has not been read yet. */
  pending: number;
};

/**
 * An upper bound of the depth of BETWEEN in the subject of BETWEEN: the formatter writes a subject twice. Infinite when
 * the text cannot be parsed.
 */
function betweenDepth(text: string): number {
  const outer: Level[] = [];
  let level: Level = { depth: 0, most: 0, pending: 0 };
  let deepest = 0;
  for (let at = 0; at < text.length; ) {
    const token = plainTokenAt(text, at);
    if (token === undefined) break;
    const value =
      token === "odd" ? braceAt(text, at) : token.kind === "string" || token.kind === "quoted" ? "" : token.value;
    if (value === undefined) return Number.POSITIVE_INFINITY;
    at = token === "odd" ? text.indexOf(value, at) + 1 : token.end;
    const change = value.toLowerCase();
    if (/^(?:[([{]|case)$/.test(change)) {
      outer.push(level);
      level = { depth: level.depth, most: 0, pending: 0 };
    } else if (/^(?:[)\]}]|end)$/.test(change)) level = join(outer.pop(), level);
    else if (change === "between") level = { ...level, depth: level.depth + 1, pending: level.pending + 1 };
    else if (change === "and" && level.pending > 0) level.pending -= 1;
    else if (separators.test(change)) level.depth = 0;
    level.most = Math.max(level.most, level.depth);
    deepest = Math.max(deepest, level.depth);
  }
  return deepest;
}

/** The content of parentheses is part of the operand around them. */
function join(before: Level | undefined, inner: Level): Level {
  return { depth: Math.max(before?.depth ?? 0, inner.most), most: before?.most ?? 0, pending: before?.pending ?? 0 };
}

/** The brace of a parameter; undefined for anything else that is not plain and could hide something after it. */
function braceAt(text: string, from: number): string | undefined {
  let at = from;
  while (/[ \t\n\r]/.test(text[at] ?? "")) at += 1;
  return /[{}]/.test(text[at] ?? "") ? (text[at] as string) : undefined;
}
