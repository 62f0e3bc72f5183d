/** Columns whose values depend on more than the rows: an ALIAS over `now()`, a default that asks a dictionary. */
import { isPunctuation, tokenize } from "../../clickhouse/lexer.ts";
import { allowedFunction, isVolatile } from "../expression/functions.ts";

type Made = { readonly name: string; readonly madeOf?: string | undefined };

/** Calls in the engine's text that depend on their arguments only. */
const harmless = new Set(["cast", "_cast", "in", "notin", "tuple", "array", "interval"]);

/** The names of such columns. A function that is not known here counts as one that may answer differently. */
export function volatileColumns(columns: readonly Made[]): string[] {
  const found = new Set<string>();
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { name, madeOf } of columns) if (madeOf && dependsOnMore(madeOf, found)) found.add(name);
  }
  return [...found];
}

function dependsOnMore(expression: string, volatile: ReadonlySet<string>): boolean {
  const tokens = tokenize(expression);
  return tokens.some((token, i) => {
    if (token.kind !== "word" && token.kind !== "quotedIdentifier") return false;
    if (!isPunctuation(tokens[i + 1], "(")) return volatile.has(token.value);
    const name = allowedFunction(token.value);
    return name === undefined ? !harmless.has(token.value.toLowerCase()) : isVolatile(name);
  });
}
