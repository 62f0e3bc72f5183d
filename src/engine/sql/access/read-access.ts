/**
 * Reads statements about users, roles and grants from the tokens of their canonical text. The engine cannot run them:
 * the control plane applies what was read here. Every token must be understood, or the statement is refused.
 */
import { createHash } from "node:crypto";
import type { AccessChange, IfPresent } from "../../../clickhouse/access-change.ts";
import { unescapeParameter } from "../rules/parameters.ts";
import { refuse } from "../rules/refusal.ts";
import type { SqlToken } from "../text/tokens.ts";
import { readGrant } from "./read-grant.ts";
import { TokenReader } from "./token-reader.ts";

const beginning = /^(?:(?:CREATE|ALTER|DROP) (?:USER|ROLE)|GRANT|REVOKE)$/;

/** True when the tokens begin a statement that is read here. */
export function isAccessStatement(tokens: readonly SqlToken[]): boolean {
  const [first, second] = tokens;
  if (first?.kind !== "word") return false;
  return beginning.test(first.value) || (second?.kind === "word" && beginning.test(`${first.value} ${second.value}`));
}

/** The parameters of the request, with values as they are sent. */
type Parameters = readonly (readonly [name: string, value: string])[];

/**
 * Throws the exception for the client, which names what is not available. Without the parameters of a request, a
 * password that is one has some value.
 */
export function readAccess(tokens: readonly SqlToken[], parameters?: Parameters): AccessChange {
  const reader = new TokenReader(tokens, (name) => boundValue(name, parameters));
  const change = readChange(reader);
  reader.end();
  return change;
}

function boundValue(name: string, parameters: Parameters | undefined): string {
  if (parameters === undefined) return "0".repeat(64);
  const [, value] = parameters.find(([known]) => known === name) ?? [];
  if (value === undefined) refuse(`The parameter ${name} has no value: send param_${name}.`);
  return Buffer.from(unescapeParameter(value)).toString("latin1");
}

function readChange(reader: TokenReader): AccessChange {
  if (reader.skip("GRANT")) return readGrant(reader, "GRANT");
  if (reader.skip("REVOKE")) return readGrant(reader, "REVOKE");
  if (reader.skip("CREATE USER")) return readCreateUser(reader);
  if (reader.skip("CREATE ROLE")) {
    const ifPresent = readIfPresent(reader);
    return { type: "create roles", ifPresent, names: reader.newNames("role") };
  }
  if (reader.skip("ALTER USER")) {
    const ifMissing = reader.skip("IF EXISTS") ? "skip" : "fail";
    const names = reader.names();
    return { type: "set password", ifMissing, names, passwordSha256: readPassword(reader) };
  }
  for (const kind of ["user", "role"] as const) {
    if (!reader.skip(`DROP ${kind.toUpperCase()}`)) continue;
    const ifMissing = reader.skip("IF EXISTS") ? "skip" : "fail";
    return { type: `drop ${kind}s`, ifMissing, names: reader.names() };
  }
  refuse(`${reader.next()} is not available: a role can be created and dropped.`);
}

function readCreateUser(reader: TokenReader): AccessChange {
  const ifPresent = readIfPresent(reader);
  const names = reader.newNames("user");
  const passwordSha256 = readPassword(reader);
  reader.skip("HOST ANY");
  return { type: "create users", ifPresent, names, passwordSha256 };
}

function readIfPresent(reader: TokenReader): IfPresent {
  if (reader.skip("IF NOT EXISTS")) return "skip";
  return reader.skip("OR REPLACE") ? "replace" : "fail";
}

/** The SHA-256 of the only password, lower-case hex. */
function readPassword(reader: TokenReader): string {
  const hash = readHash(reader);
  if (reader.skipMark(",")) refuse("A user has one password: a second authentication method is not available.");
  return hash;
}

function readHash(reader: TokenReader): string {
  if (reader.ended) refuse("A user needs a password: IDENTIFIED BY, or IDENTIFIED WITH sha256_hash BY.");
  if (!reader.skip("IDENTIFIED")) reader.unavailable();
  if (reader.skip("WITH sha256_hash BY")) {
    const hash = reader.text("the hash");
    if (!/^[0-9A-Fa-f]{64}$/.test(hash)) refuse("A sha256_hash has 64 hexadecimal digits.");
    return hash.toLowerCase();
  }
  if (!reader.skip("BY") && !reader.skip("WITH sha256_password BY")) {
    reader.skip("WITH");
    refuse(`IDENTIFIED WITH ${reader.next()} is not available: use sha256_password or sha256_hash.`);
  }
  const password = reader.text("the password");
  if (password === "") refuse("The password is empty.");
  // One character is one byte.
  return createHash("sha256").update(Buffer.from(password, "latin1")).digest("hex");
}
