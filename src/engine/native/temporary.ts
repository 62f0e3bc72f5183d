/**
 * Temporary tables, and roles other than the default ones, belong to a session that the engine keeps: to a connection
 * on which the user has logged in. Only bytes of the front go through it as well: `temporary-data.ts` has the way of a
 * client's data.
 */
import { since } from "../../endpoint/native/hello.ts";
import type { NativeSession } from "../../endpoint/native/session.ts";
import type { StatementVerdict } from "../sql/guard.ts";
import type { GuardQuery } from "../sql/guard-query.ts";
import { isKeyword, isMark, isName } from "../sql/text/scan.ts";
import type { SqlToken } from "../sql/text/tokens.ts";
import { tokensOf, utf8 } from "./session-statement.ts";

type Tokens = readonly SqlToken[];

/**
 * True of a client that gets such a session from the beginning. Its settings have another form than those of a query
 * with a seal, and its answers other packets.
 */
export function isOld({ revision }: NativeSession): boolean {
  return revision < since.settingTexts;
}

/** `CREATE [OR REPLACE] TEMPORARY TABLE [IF NOT EXISTS] name`: the name. Undefined for every other statement. */
export function temporaryName(tokens: Tokens): string | undefined {
  const at = tokens.slice(0, 4).findIndex((token) => isKeyword(token, "TEMPORARY"));
  if (!isKeyword(tokens[0], "CREATE") || at < 0) return undefined;
  const name = tokens[isKeyword(tokens[at + 2], "IF") ? at + 5 : at + 2];
  return isName(name) ? name.value : undefined;
}

/** True of an INSERT whose data is not in its text. */
export function wantsData({ kind, head }: StatementVerdict, text: Buffer): boolean {
  return kind === "insert" && head !== undefined && text.toString("latin1", head.headEnd).trim() === "";
}

/** The temporary table that an INSERT may mean, which is one of `names`; `head`: without data. */
export async function temporaryTarget(
  guardQuery: GuardQuery,
  head: Buffer,
  names: ReadonlySet<string> | undefined,
): Promise<string | undefined> {
  if (names === undefined) return undefined;
  const [, , table, next] = await tokensOf(guardQuery, head);
  return isName(table) && !isMark(next, ".") && names.has(table.value) ? utf8(table.value) : undefined;
}
