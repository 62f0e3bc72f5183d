/**
 * Decides which statements need more disk: they are refused when a service is over its quota. Everything that frees
 * disk, and definitions without data, still run.
 */

import { isKeyword, isMark } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { StatementKind } from "./facts.ts";
import { wordsFrom } from "./kinds.ts";

type Tokens = readonly SqlToken[];

/** Commands of ALTER TABLE that write new data, or reference the data of another table. */
const growingCommands = [
  /^UPDATE\b/,
  /^MATERIALIZE (?:COLUMN|INDEX|PROJECTION|STATISTICS)\b/,
  /^(?:ATTACH|REPLACE) PART(?:ITION)?\b.* FROM\b/,
  /^MOVE PARTITION\b/,
];

/** Rows written outside of the service: a way to free disk. */
const outside = /^FUNCTION (?:s3|gcs|azureBlobStorage|null) /i;

/** True when a statement of this kind, given as tokens of its canonical text, needs more disk. */
export function takesDisk(kind: StatementKind, tokens: Tokens): boolean {
  if (kind === "insert") return !outside.test(`${wordsFrom(tokens, 2, 2)} `);
  if (kind === "define") return definesWithData(tokens);
  if (kind === "change") return changesGrow(tokens);
  return kind === "system" && /^(?:START VIEWS?|REFRESH VIEW)\b/.test(wordsFrom(tokens, 1, 2));
}

/** `CREATE TABLE ... AS SELECT`, `CLONE AS`, and views that are filled now or on a schedule. */
function definesWithData(tokens: Tokens): boolean {
  const head = tokens.slice(0, 6);
  const has = (word: string) => tokens.some((token) => isKeyword(token, word));
  if (head.some((token) => isKeyword(token, "VIEW"))) return has("POPULATE") || has("REFRESH");
  return head.some((token) => isKeyword(token, "TABLE")) && (has("SELECT") || has("CLONE"));
}

/** The formatter puts every command of ALTER TABLE in parentheses. */
function changesGrow(tokens: Tokens): boolean {
  if (isKeyword(tokens[0], "UPDATE")) return true;
  if (!isKeyword(tokens[0], "ALTER")) return false;
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (isMark(token, ")")) depth -= 1;
    if (!isMark(token, "(")) continue;
    depth += 1;
    if (depth > 1) continue;
    const command = wordsFrom(tokens, at + 1, 40);
    if (growingCommands.some((pattern) => pattern.test(command))) return true;
  }
  return false;
}
