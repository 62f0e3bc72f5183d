/**
 * Which statements take more disk: those are refused to a service that is over its quota. Everything that makes room, and
 * definitions without data, go on.
 */

import { isKeyword, isMark } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { StatementKind } from "./facts.ts";
import { wordsFrom } from "./kinds.ts";

type Tokens = readonly SqlToken[];

/** Commands of ALTER TABLE that write new data, or a second use of what another table has. */
const growingCommands = [
  /^UPDATE\b/,
  /^MATERIALIZE (?:COLUMN|INDEX|PROJECTION|STATISTICS)\b/,
  /^(?:ATTACH|REPLACE) PART(?:ITION)?\b.* FROM\b/,
  /^MOVE PARTITION\b/,
];

/** Rows that leave the service: a way to make room. */
const outside = /^FUNCTION (?:s3|gcs|azureBlobStorage|null) /i;

/** True when a statement of this kind, given as tokens of its canonical text, takes more disk. */
export function takesDisk(kind: StatementKind, tokens: Tokens): boolean {
  if (kind === "insert") return !outside.test(`${wordsFrom(tokens, 2, 2)} `);
  if (kind === "define") return definesWithData(tokens);
  if (kind === "change") return changesGrow(tokens);
  return kind === "system" && /^(?:START VIEWS?|REFRESH VIEW)\b/.test(wordsFrom(tokens, 1, 2));
}

/** `CREATE TABLE ... AS SELECT`, `CLONE AS`, and views that are filled now or by a clock. */
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
