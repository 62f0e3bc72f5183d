/**
 * The formatter writes the keys of a dictionary's source, layout and settings without quotes. A key with a quote in its
 * name would change how the rest of the canonical text is read, so the client's own text of a dictionary may have no
 * such name.
 */
import { readPlain } from "./plain-text.ts";

const maxTokens = 20_000;

/** True when every name of the text (latin1) is a plain word, or quoted with letters only. */
export function hasPlainNames(text: string): boolean {
  // The bytes e2 80 begin the curly quotes.
  if (!/[`"]|\xe2\x80/.test(text)) return true;
  const tokens = readPlain(text, maxTokens);
  return tokens?.every((token) => token.kind !== "quoted" || /^[A-Za-z0-9_. -]*$/.test(token.value)) ?? false;
}

/**
 * True when the text may hold an alias that is a parameter, `1 AS {name:Identifier}`: the formatter omits it. The
 * type's name has no other spelling.
 */
export function mayHideAlias(text: string): boolean {
  return /identifier/i.test(text);
}
