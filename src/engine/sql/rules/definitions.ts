/** CREATE, REPLACE and ATTACH: engines, dictionaries, and the rights with which a view runs. */
import { internalUser } from "../../chdb/users.ts";
import { dictionaries, engines, reservedNames } from "../lists/lists.ts";
import { argumentRanges, isCall, isKeyword, isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";
import { wordsFrom } from "./kinds.ts";
import { judgeFormat } from "./object-storage.ts";
import { refuse, refuseKind } from "./refusal.ts";
import { judgeAddress } from "./table-function.ts";
import { isCurrentDatabase, judgeReferredTable, refuseFilePath } from "./table-names.ts";

type Tokens = readonly SqlToken[];

const heads =
  /^(?:OR REPLACE )?(?:(?:TEMPORARY|MATERIALIZED|WINDOW|LIVE) )?(TABLE|VIEW|DICTIONARY|DATABASE|FUNCTION|INDEX|HYPOTHETICAL INDEX)\b/;

/** Throws for a definition that is not available. Returns the indices of names that must not be judged as calls. */
export function judgeDefinition(tokens: Tokens, pairs: Int32Array, facts: Facts): Set<number> {
  const verb = (tokens[0] as SqlToken).value;
  const head = heads.exec(wordsFrom(tokens, 1))?.[1];
  if (head === undefined) refuseKind(`${verb} ${wordsFrom(tokens, 1, 2)}`);
  if (verb === "ATTACH") judgeAttach(tokens, facts);
  if (head === "FUNCTION") judgeFunction(tokens);
  const skipped = new Set<number>();
  judgeEngines(tokens, pairs, head === "DATABASE", skipped, facts);
  if (head === "DICTIONARY") judgeDictionary(tokens, pairs, skipped, facts);
  return skipped;
}

/** ATTACH restores what was detached. With a definition or a path it could create anything. */
function judgeAttach(tokens: Tokens, facts: Facts): void {
  const plain = tokens.every((token) => isName(token) || isMark(token, "."));
  const defines = tokens.some(
    (token) => isKeyword(token, "AS") || isKeyword(token, "FROM") || isKeyword(token, "ENGINE"),
  );
  if (!plain || defines) refuse("ATTACH with a definition or a path is not available.");
  facts.attached = tokens.at(-1)?.value;
}

/**
 * User-defined functions are lambdas; executables and libraries are not available. The rules tell a clause of a
 * definition from a call by its name.
 */
function judgeFunction(tokens: Tokens): void {
  const named = tokens.findIndex((token) => isKeyword(token, "FUNCTION")) + 1;
  const name = tokens[isKeyword(tokens[named], "IF") && isKeyword(tokens[named + 1], "NOT") ? named + 3 : named];
  if (isName(name) && reservedNames.has(name.value.toLowerCase())) {
    refuse(`A function cannot have the name ${name.value}, which has a meaning in definitions.`);
  }
  const at = tokens.findIndex((token) => isKeyword(token, "AS"));
  const lambda = at > 0 && at < 10 && tokens.slice(at).some((token) => isMark(token, "->"));
  if (!lambda) refuse("A function must be defined as a lambda.");
}

/**
 * Throws for a view with the rights of the control plane, or with no definer: a view runs with its definer's rights.
 */
export function judgeRights(tokens: Tokens): void {
  for (const [at, token] of tokens.entries()) {
    if (isKeyword(token, "SECURITY") && isKeyword(tokens[at + 1], "NONE"))
      refuse("SQL SECURITY NONE is not available.");
    if (isKeyword(token, "DEFINER") && isMark(tokens[at + 1], "=") && tokens[at + 2]?.value === internalUser) {
      refuse(`Definer ${tokens[at + 2]?.value} is not available.`);
    }
  }
}

function judgeEngines(tokens: Tokens, pairs: Int32Array, database: boolean, skipped: Set<number>, facts: Facts): void {
  for (const [at, token] of tokens.entries()) {
    const engine = tokens[at + 2];
    if (!isKeyword(token, "ENGINE") || !isMark(tokens[at + 1], "=") || engine === undefined) continue;
    const allowed = database ? engines.databases : engines.tables;
    if (!isName(engine) || !allowed.has(engine.value)) {
      refuse(`${database ? "Database engine" : "Engine"} ${engine.value} is not available.`);
    }
    skipped.add(at + 2);
    judgeReferredTable(tokens, pairs, at + 2, facts);
    if (engines.objectStorage.has(engine.value)) judgeStorageEngine(tokens, pairs, at + 2, facts);
  }
}

/** Object storage: the address must be readable by the guard, and the format's data must hold no expressions. */
function judgeStorageEngine(tokens: Tokens, pairs: Int32Array, at: number, facts: Facts): void {
  const name = (tokens[at] as SqlToken).value;
  if (!isCall(tokens, at)) return;
  const ranges = argumentRanges(tokens, pairs, at + 1);
  judgeAddress(tokens, ranges[0] ?? [at, at], name, facts);
  judgeFormat(tokens, ranges, name);
  if (ranges.some(([from]) => /^values$/i.test(tokens[from]?.value ?? "")))
    refuse(`Format Values is not available in ${name}.`);
}

/**
 * The clauses of a dictionary: `SOURCE(CLICKHOUSE(...))`, `LAYOUT(FLAT())`, `LIFETIME(...)`, `RANGE(...)`,
 * `SETTINGS(...)`.
 */
function judgeDictionary(tokens: Tokens, pairs: Int32Array, skipped: Set<number>, facts: Facts): void {
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as SqlToken;
    // The attributes are in the first parentheses and are judged as expressions and types.
    if (isMark(token, "(")) at = Math.max(at, pairs[at] as number);
    if (!isCall(tokens, at) || token.kind !== "word") continue;
    const inner = tokens[at + 2];
    if (token.value === "SOURCE") {
      if (!isName(inner) || !dictionaries.sources.has(inner.value.toLowerCase())) {
        refuse(`Dictionary source ${inner?.value} is not available.`);
      }
      if (inner.value.toLowerCase() === "clickhouse") judgeClickHouseSource(tokens, pairs, at + 2, facts);
    } else if (token.value === "LAYOUT") {
      if (!isName(inner) || !dictionaries.layouts.has(inner.value.toLowerCase())) {
        refuse(`Dictionary layout ${inner?.value} is not available.`);
      }
    } else if (!/^(?:LIFETIME|RANGE|SETTINGS)$/.test(token.value)) continue;
    skipped.add(at);
    if (token.value === "SOURCE" || token.value === "LAYOUT") skipped.add(at + 2);
    at = pairs[at + 1] as number;
  }
}

/** `SOURCE(CLICKHOUSE(...))` of a dictionary: a table or a query of this service, never another server. */
const names = new Set(["DB", "TABLE", "USER", "PASSWORD", "UPDATE_LAG"]);

/** Throws for a key that names a server; texts that the engine runs as statements are added to `facts.nested`. */
function judgeClickHouseSource(tokens: readonly SqlToken[], pairs: Int32Array, at: number, facts: Facts): void {
  const close = pairs[at + 1] as number;
  for (let i = at + 2; i < close; i += 2) {
    const key = tokens[i];
    const value = tokens[i + 1];
    if (isName(key) && key.value.toUpperCase() === "DB" && isCurrentDatabase(tokens, i + 1, i + 4)) {
      i += 2;
      continue;
    }
    const literal = value?.kind === "string" || value?.kind === "number" || isName(value);
    if (!isName(key) || !literal || i + 1 >= close) refuse("The source of a dictionary must hold keys and literals.");
    judgeKey(key.value.toUpperCase(), value.value, facts);
  }
}

function judgeKey(key: string, value: string, facts: Facts): void {
  if (key === "USER" && value === internalUser) refuse(`User ${value} is not available.`);
  if (key === "TABLE") refuseFilePath(value);
  if (names.has(key)) return;
  if (key === "QUERY" || key === "INVALIDATE_QUERY") facts.nested.push(value);
  // The engine inserts these two into its query unescaped.
  else if (key === "WHERE") facts.nested.push(`SELECT 1 FROM t WHERE ${value}`);
  else if (key === "UPDATE_FIELD") {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) refuse("UPDATE_FIELD of a dictionary must be the name of a column.");
  } else if (/^(?:HOST|PORT|SECURE|NAME|REPLICA)$/.test(key)) {
    refuse("The source of a dictionary must be a table or a query of this service.");
  } else refuse(`Key ${key} is not available in the source of a dictionary.`);
}
