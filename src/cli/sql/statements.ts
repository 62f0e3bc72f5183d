/** Several statements in one text. */
import { tokenize } from "../../clickhouse/lexer.ts";

/** The statements between semicolons, without empty ones. Semicolons in quotes and comments separate nothing. */
export function statementsIn(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  let hasTokens = false;
  for (const { kind, text: token, start: at, end } of tokenize(text)) {
    if (kind !== "punctuation" || token !== ";") {
      hasTokens = true;
      continue;
    }
    if (hasTokens) found.push(text.slice(start, at).trim());
    start = end;
    hasTokens = false;
  }
  if (hasTokens) found.push(text.slice(start).trim());
  return found;
}

/** Whether the last statement has its semicolon. */
export function isComplete(text: string): boolean {
  const last = tokenize(text).at(-1);
  return last === undefined || (last.kind === "punctuation" && last.text === ";");
}
