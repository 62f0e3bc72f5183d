/**
 * SET and USE over the native protocol. The engine keeps no session, so that the front remembers what they change, and
 * sends it with every query.
 */
import { clickHouseException } from "../../clickhouse/exception.ts";
import { identifier } from "../../clickhouse/sql.ts";
import { maxSessionCharacters, type NativeSession } from "../../endpoint/native/session.ts";
import { canonicalText, type GuardQuery } from "../sql/guard-query.ts";
import { refuse } from "../sql/rules/refusal.ts";
import { isKeyword, isMark, isName } from "../sql/text/scan.ts";
import { readCanonical, type SqlToken } from "../sql/text/tokens.ts";

type Tokens = readonly SqlToken[];

/** Asks the engine as the user of the session. Rejects with the engine's exception. */
export type AskAsUser = (sql: string, settings?: Readonly<Record<string, string>>) => Promise<string>;

const most = 1_000;

export async function tokensOf(guardQuery: GuardQuery, text: Buffer): Promise<Tokens> {
  return readCanonical((await canonicalText(guardQuery, text.toString("latin1"))).text);
}

/** The session after a judged SET or USE. Throws the exception for the client, and changes nothing then. */
export async function changedSession(session: NativeSession, tokens: Tokens, ask: AskAsUser): Promise<NativeSession> {
  if (isKeyword(tokens[0], "USE")) return await withDatabase(session, tokens, ask);
  const settings = new Map(session.settings);
  const parameters = new Map(session.parameters);
  for (const [name, value] of assignments(tokens)) {
    const [to, key] = name.startsWith("param_") ? [parameters, name.slice("param_".length)] : [settings, name];
    if (value === undefined) to.delete(key);
    else to.set(key, value);
  }
  if (settings.size + parameters.size > most) refuse(`A session can have ${most} settings and parameters.`);
  const characters = [...settings, ...parameters].flat().reduce((sum, text) => sum + text.length, 0);
  if (characters > maxSessionCharacters) {
    refuse(
      `The settings and parameters of a session can have ${maxSessionCharacters} characters; send larger ones with the query.`,
    );
  }
  await ask("SELECT 1", Object.fromEntries(settings));
  return { ...session, settings: [...settings], parameters: [...parameters] };
}

async function withDatabase(session: NativeSession, tokens: Tokens, ask: AskAsUser): Promise<NativeSession> {
  const name = tokens[1];
  if (!isName(name) || tokens.length !== 2) refuse("USE takes the name of a database.");
  const database = utf8(name.value);
  await requireDatabase(database, ask);
  return { ...session, database };
}

/** Throws UNKNOWN_DATABASE for one that does not exist, which the engine would not survive in a handshake. */
export async function requireDatabase(database: string, ask: AskAsUser): Promise<void> {
  const exists = await ask(`EXISTS DATABASE ${identifier(database)} FORMAT TSV`);
  if (exists.trim() !== "1") throw clickHouseException("UNKNOWN_DATABASE", `Database ${database} does not exist`);
}

/** `a = 1, b = 'x', c = DEFAULT`. The value of a default is undefined. */
function* assignments(tokens: Tokens): Generator<readonly [name: string, value: string | undefined]> {
  for (let at = 1; at < tokens.length; at += 1) {
    const name = tokens[at];
    if (!isName(name) || !isMark(tokens[at + 1], "=")) unreadable();
    at += 2;
    const isNegative = isMark(tokens[at], "-");
    if (isNegative) at += 1;
    const value = settingValue(tokens[at]);
    yield [utf8(name.value), isNegative ? `-${value}` : value];
    at += 1;
    if (tokens[at] !== undefined && !isMark(tokens[at], ",")) unreadable();
  }
}

function settingValue(token: SqlToken | undefined): string | undefined {
  if (token?.kind === "string" || token?.kind === "number") return utf8(token.value);
  if (isKeyword(token, "true")) return "1";
  if (isKeyword(token, "false")) return "0";
  if (isKeyword(token, "DEFAULT")) return undefined;
  return unreadable();
}

function unreadable(): never {
  refuse("SET takes names with texts and numbers over the native protocol; send other values with the query.");
}

/** The text that a token holds as Latin-1. */
export function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString();
}
