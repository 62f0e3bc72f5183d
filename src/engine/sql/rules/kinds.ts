/** Classifies a statement by the first words of its canonical text. A kind that is not listed here is not available. */

import { isCall, isKeyword, isMark } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import { emptyFacts, type Facts } from "./facts.ts";
import { refuse, refuseKind } from "./refusal.ts";

type Tokens = readonly SqlToken[];

const readers = new Set(["SELECT", "WITH", "SHOW", "DESCRIBE", "EXISTS", "CHECK", "WATCH"]);
const changers = new Set([
  "ALTER",
  "DROP",
  "TRUNCATE",
  "DETACH",
  "RENAME",
  "EXCHANGE",
  "OPTIMIZE",
  "UNDROP",
  "DELETE",
  "UPDATE",
]);
const definers = new Set(["CREATE", "REPLACE", "ATTACH"]);

/** Objects that DROP, TRUNCATE, DETACH and RENAME may name; the others are users, roles and server objects. */
const objects = /^(?:TEMPORARY )?(?:TABLE|TABLES|VIEW|DICTIONARY|DICTIONARIES|DATABASE|FUNCTION|INDEX|ALL TABLES)\b/;

/** SYSTEM statements that affect data of this service only; the engine's grants restrict them further. */
const systemVerbs = [
  /^(?:START|STOP) (?:MERGES|TTL MERGES|MOVES|CLEANUP|VIEWS?|REDUCE BLOCKING PARTS)\b/,
  /^(?:REFRESH|WAIT|CANCEL|PAUSE|START|STOP) VIEW\b/,
  /^RELOAD DICTIONAR(?:Y|IES)\b/,
  /^FLUSH (?:LOGS|ASYNC INSERT QUEUE)\b/,
  /^(?:LOAD|UNLOAD) PRIMARY KEY\b/,
  /^WAIT LOADING PARTS\b/,
  /^PREWARM (?:MARK CACHE|PRIMARY INDEX CACHE)\b/,
  /^CLEAR (?:MARK|PRIMARY INDEX|UNCOMPRESSED|INDEX MARK|INDEX UNCOMPRESSED|QUERY|QUERY CONDITION|SCHEMA|COMPILED EXPRESSION|MMAP|PAGE|VECTOR SIMILARITY INDEX|TEXT INDEX [A-Z]+|ICEBERG METADATA|PARQUET METADATA) CACHES?\b/,
];

/** Commands of ALTER TABLE. FREEZE, FETCH, MOVE and EXPORT are omitted: they name disks, paths and other servers. */
const alterCommands = [
  /^(?:ADD|DROP|CLEAR|MODIFY|COMMENT|RENAME|MATERIALIZE|ALTER) COLUMN\b/,
  /^(?:ADD|DROP|CLEAR|MATERIALIZE) (?:INDEX|PROJECTION)\b/,
  /^(?:ADD|DROP) CONSTRAINT\b/,
  /^(?:ADD|DROP|CLEAR|MODIFY|MATERIALIZE) STATISTICS\b/,
  /^(?:MODIFY|MATERIALIZE|REMOVE) TTL\b/,
  /^(?:MODIFY|REMOVE) (?:SAMPLE BY|COMMENT)\b/,
  /^MODIFY (?:ORDER BY|QUERY|REFRESH|SETTING|SQL SECURITY|DEFINER)\b/,
  /^RESET SETTING\b/,
  /^(?:UPDATE|DELETE)\b/,
  /^APPLY (?:DELETED MASK|PATCHES)\b/,
  /^REWRITE PARTS\b/,
  /^(?:DROP|DETACH|ATTACH|REPLACE|FORGET) (?:DETACHED )?PART(?:ITION)?\b/,
  /^MOVE PARTITION .* TO TABLE\b/,
];

/** The kind of a statement, with empty facts. Throws for kinds that are not available. */
export function readKind(tokens: Tokens): Facts {
  const from = tokens.findIndex((token) => !isMark(token, "("));
  const verb = tokens[from]?.kind === "word" ? (tokens[from]?.value as string) : "";
  if (readers.has(verb)) return emptyFacts("read", true);
  if (verb === "EXPLAIN") {
    const facts = emptyFacts("read", explainsQuery(tokens, from + 1));
    if (checksGrants(tokens, from + 1)) return facts;
    return { ...facts, showsColumns: "EXPLAIN of another kind than AST, PLAN, PIPELINE and ESTIMATE of a query" };
  }
  if (verb === "INSERT") return insertFacts(tokens);
  if (verb === "SET") return setFacts(tokens[from + 1]);
  if (verb === "USE") return emptyFacts("set", true);
  if (verb === "KILL") return killFacts(tokens[from + 1]);
  if (verb === "SYSTEM") return systemFacts(wordsFrom(tokens, from + 1));
  if (definers.has(verb)) return emptyFacts("define", false);
  if (changers.has(verb)) return changeFacts(tokens, verb, from + 1);
  refuseKind(verb === "" ? "This kind of statement" : verb);
}

/** The next words, joined: `STOP MERGES default t`. */
export function wordsFrom(tokens: Tokens, from: number, count = 8): string {
  return tokens
    .slice(from, from + count)
    .map((token) => token.value)
    .join(" ");
}

/**
 * True for the kinds of EXPLAIN that show nothing of tables, or for which the engine requires the right to read them.
 */
function checksGrants(tokens: Tokens, from: number): boolean {
  const kind = tokens[from];
  // Without a kind, which is a plan, an option or the query follows.
  if (isMark(kind, "(") || isMark(tokens[from + 1], "=")) return true;
  return kind?.kind === "word" && /^(?:AST|PLAN|PIPELINE|ESTIMATE|SELECT|WITH)$/.test(kind.value);
}

/** EXPLAIN of anything but a query requires the right to run it. */
function explainsQuery(tokens: Tokens, from: number): boolean {
  const verbs = new Set(["SELECT", "WITH", "INSERT", ...changers, ...definers, "SYSTEM", "KILL", "GRANT", "REVOKE"]);
  const inner = tokens.slice(from).find((token) => token.kind === "word" && verbs.has(token.value));
  if (isKeyword(inner, "INSERT")) insertFormat(tokens.slice(tokens.indexOf(inner as SqlToken)));
  return isKeyword(inner, "SELECT") || isKeyword(inner, "WITH");
}

function insertFacts(tokens: Tokens): Facts {
  const facts = emptyFacts("insert", false);
  const format = insertFormat(tokens);
  if (format !== undefined) facts.format = format;
  if (tokens.some((token) => isKeyword(token, "SELECT"))) {
    facts.selects = tokens.some((token, i) => token.value === "input" && isCall(tokens, i)) ? "input" : "tables";
  }
  return facts;
}

/**
 * The format of an INSERT is the only name that the formatter writes without quotes: it must be a word at the end of
 * the text, or it could be code.
 */
function insertFormat(tokens: Tokens): string | undefined {
  // The formatter's output for a format that is a parameter.
  if (isKeyword(tokens.at(-1), "VALUES")) refuse("The format of the INSERT must be a name.");
  let depth = 0;
  for (let at = 0; at < tokens.length; at += 1) {
    if (isMark(tokens[at], "(")) depth += 1;
    else if (isMark(tokens[at], ")")) depth -= 1;
    if (depth !== 0 || !isKeyword(tokens[at], "FORMAT")) continue;
    const name = tokens[at + 1];
    if (name?.kind !== "word" || at + 2 !== tokens.length) refuse("The format of the INSERT has an odd name.");
    return name.value;
  }
  return undefined;
}

function setFacts(next: SqlToken | undefined): Facts {
  if (isKeyword(next, "TRANSACTION")) refuseKind("SET TRANSACTION");
  // It changes a user, unlike SET ROLE, which changes the session.
  if (isKeyword(next, "DEFAULT")) refuseKind("SET DEFAULT ROLE");
  return emptyFacts("set", true);
}

/** Without the grant for KILL QUERY, the engine lets users end only their own queries. */
function killFacts(next: SqlToken | undefined): Facts {
  if (isKeyword(next, "QUERY")) return emptyFacts("kill", true);
  if (isKeyword(next, "MUTATION")) return emptyFacts("kill", false);
  refuseKind(`KILL ${next?.value ?? ""}`);
}

function systemFacts(words: string): Facts {
  if (!systemVerbs.some((verb) => verb.test(words))) {
    refuseKind(`SYSTEM ${words.split(" ").slice(0, 3).join(" ")}`);
  }
  return emptyFacts("system", false);
}

function changeFacts(tokens: Tokens, verb: string, from: number): Facts {
  const words = wordsFrom(tokens, from);
  if (verb === "ALTER") checkAlter(tokens, from, words);
  else if (/^(?:DROP|TRUNCATE|DETACH|RENAME|EXCHANGE|OPTIMIZE|UNDROP)$/.test(verb) && !objects.test(words)) {
    refuseKind(`${verb} ${words.split(" ").slice(0, 2).join(" ")}`);
  }
  return emptyFacts("change", false);
}

/** `CREATE TABLE`, `DROP DATABASE`: words with which a statement begins, and what it is about. */
const verbs = /^(?:CREATE|ATTACH|DETACH|DROP|ALTER|TRUNCATE|RENAME|EXCHANGE|UNDROP|OPTIMIZE|BACKUP|RESTORE|INSERT)$/;
const subjects =
  /^(?:OR|INTO|TEMPORARY|MATERIALIZED|TABLE|TABLES|VIEW|DICTIONARY|DICTIONARIES|DATABASE|FUNCTION|USER|ROLE|ROW|QUOTA|SETTINGS|PROFILE|POLICY|NAMED|RESOURCE|WORKLOAD)$/;

/**
 * Throws for statements within statements: `a PARALLEL WITH b`, whatever they are, and any statement that begins
 * elsewhere than at the beginning, after EXPLAIN or in SHOW. `CHECK GRANT` names privileges, such as CREATE USER.
 */
export function refuseSecondStatement(tokens: Tokens): void {
  const namesPrivileges = isKeyword(tokens[0], "CHECK") && isKeyword(tokens[1], "GRANT");
  for (let at = 1; at < tokens.length - 1; at += 1) {
    const token = tokens[at] as SqlToken;
    const next = tokens[at + 1];
    if (token.kind !== "word" || next?.kind !== "word") continue;
    if (token.value === "PARALLEL" && next.value === "WITH") refuseKind("PARALLEL WITH");
    if (namesPrivileges || !verbs.test(token.value) || !subjects.test(next.value)) continue;
    if (isKeyword(tokens[0], "SHOW") && at === 1) continue;
    const explained = isKeyword(tokens[0], "EXPLAIN") && !tokens.slice(1, at).some((one) => isMark(one, "("));
    if (!explained) refuse(`A statement cannot hold another one: ${token.value} ${next.value}.`);
  }
}

/** `ALTER TABLE name (command), (command)`: the formatter puts every command in parentheses. */
function checkAlter(tokens: Tokens, from: number, words: string): void {
  if (!/^(?:TEMPORARY )?TABLE\b/.test(words)) {
    refuseKind(`ALTER ${words.split(" ").slice(0, 2).join(" ")}`);
  }
  let depth = 0;
  for (let at = from; at < tokens.length; at += 1) {
    if (isMark(tokens[at], ")")) depth -= 1;
    if (!isMark(tokens[at], "(")) continue;
    depth += 1;
    if (depth === 1) checkAlterCommand(tokens, at + 1);
  }
}

function checkAlterCommand(tokens: Tokens, at: number): void {
  const words = wordsFrom(tokens, at, 40);
  const command = /^\w*(?: \w+)?/.exec(words)?.[0];
  if (!alterCommands.some((pattern) => pattern.test(words))) refuse(`ALTER TABLE ... ${command} is not available.`);
}
