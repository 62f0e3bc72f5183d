/**
 * Definitions of a moved service's objects in the form of the server that receives them. The engine writes them in one
 * normal form (`system.tables.create_table_query`), so that clauses are found by their keywords.
 */
import { type Token, tokenize } from "../../clickhouse/lexer.ts";
import { tableName } from "../../clickhouse/sql.ts";
import { engineName, onCluster, type TableForm, windowSettings } from "../../clickhouse/table-form.ts";

export type Definition = { readonly database: string; readonly name: string; readonly statement: string };

export type TableStatements = {
  readonly create: string;
  /** The rule by which rows expire. It applies from the switch on: until then both sides have the same rows. */
  readonly ttl: string | undefined;
};

/** Makes a table of the MergeTree family, or a table that stores nothing. `storedAs`: its name there. */
export function tableStatements(
  { database, name, statement }: Definition,
  form: TableForm,
  storedAs: string = name,
): TableStatements {
  const clauses = clausesOf(statement);
  const { engine } = clauses;
  if (engine === undefined) throw new Error("the statement has no engine");
  const isStored = engine.value.endsWith("MergeTree");
  const ttl = clauses.ttl === undefined ? undefined : statement.slice(clauses.ttl.from, clauses.ttl.to).trim();
  const settings = isStored ? [...keptSettings(statement, clauses), ...windowSettings(form)] : [];
  const parts = [
    `CREATE TABLE IF NOT EXISTS ${tableName(database, storedAs)}${onCluster(form)}`,
    statement.slice(clauses.nameEnd, engine.start),
    engineName(form, engine.value),
    statement.slice(engine.end, clauses.ttl?.start ?? clauses.settings?.start ?? clauses.comment ?? statement.length),
    settings.length === 0 ? "" : ` SETTINGS ${settings.join(", ")} `,
    clauses.comment === undefined ? "" : statement.slice(clauses.comment),
  ];
  return { create: parts.join(""), ttl };
}

/** Makes a view or dictionary. A definer is a user of the old side. */
export function objectStatement({ database, name, statement }: Definition, form: TableForm): string {
  const { nameEnd, kind } = clausesOf(statement);
  const rest = withoutDefiner(statement, nameEnd);
  return `CREATE ${kind} IF NOT EXISTS ${tableName(database, name)}${onCluster(form)}${rest}`;
}

/** The engine of a table; empty for other objects. */
export function engineIn(statement: string): string {
  return clausesOf(statement).engine?.value ?? "";
}

/** True for a materialized view that stores its rows itself. */
export function hasInnerTable(statement: string): boolean {
  return !topLevel(statement).some((token) => isWord(token, "TO"));
}

/** True when rows of columns expire on their own. */
export function hasColumnTtl(statement: string): boolean {
  const all = tokenize(statement).filter((token) => isWord(token, "TTL")).length;
  return all > topLevel(statement).filter((token) => isWord(token, "TTL")).length;
}

type Clauses = {
  readonly kind: string;
  readonly nameEnd: number;
  /** The engine's name. */
  readonly engine: Token | undefined;
  readonly ttl: { readonly start: number; readonly from: number; readonly to: number } | undefined;
  readonly settings: { readonly start: number; readonly from: number; readonly to: number } | undefined;
  readonly comment: number | undefined;
};

function clausesOf(statement: string): Clauses {
  const tokens = topLevel(statement);
  const kindAt = tokens.findIndex((token) => ["TABLE", "VIEW", "DICTIONARY"].some((word) => isWord(token, word)));
  const dotted = tokens[kindAt + 2]?.text === ".";
  const nameEnd = tokens[kindAt + (dotted ? 3 : 1)]?.end;
  if (kindAt < 1 || nameEnd === undefined) throw new Error("the statement creates nothing that is known");
  const engineAt = tokens.findIndex((token, at) => isWord(token, "ENGINE") && tokens[at + 1]?.text === "=");
  const after = (word: string) =>
    engineAt < 0 ? undefined : tokens.find((token, at) => at > engineAt && isWord(token, word));
  const [ttl, settings, comment] = [after("TTL"), after("SETTINGS"), after("COMMENT")];
  const settingsEnd = comment?.start ?? statement.length;
  return {
    kind: tokens
      .slice(1, kindAt + 1)
      .map(({ text }) => text)
      .join(" "),
    nameEnd,
    engine: tokens[engineAt + 2],
    ttl: ttl && { start: ttl.start, from: ttl.end, to: settings?.start ?? settingsEnd },
    settings: settings && { start: settings.start, from: settings.end, to: settingsEnd },
    comment: comment?.start,
  };
}

/** Disks of the old side do not exist on the new one, which also has windows of its own. */
const droppedSettings = /^(storage_policy|disk|table_disk|\w*deduplication_window\w*)\b/;

function keptSettings(statement: string, { settings }: Clauses): string[] {
  if (settings === undefined) return [];
  const text = statement.slice(settings.from, settings.to);
  const commas = topLevel(text).filter((token) => token.text === ",");
  const starts = [0, ...commas.map(({ end }) => end)];
  const each = starts.map((start, at) => text.slice(start, commas[at]?.start).trim());
  return each.filter((setting) => setting !== "" && !droppedSettings.test(setting));
}

/** What follows the name, without `DEFINER = user` and `SQL SECURITY ...`. */
function withoutDefiner(statement: string, nameEnd: number): string {
  const tokens = topLevel(statement);
  const body = tokens.findIndex((token) => isWord(token, "AS"));
  const cuts: { start: number; end: number }[] = [];
  for (const [at, token] of tokens.entries()) {
    const last = tokens[at + 2];
    if (last === undefined || at > body || token.start < nameEnd) continue;
    const isDefiner = isWord(token, "DEFINER") && tokens[at + 1]?.text === "=";
    const isSecurity = isWord(token, "SQL") && isWord(tokens[at + 1], "SECURITY");
    if (isDefiner || isSecurity) cuts.push({ start: token.start, end: last.end });
  }
  let rest = "";
  let from = nameEnd;
  for (const { start, end } of cuts) {
    rest += statement.slice(from, start);
    from = end;
  }
  return rest + statement.slice(from);
}

/** The tokens outside of parentheses. */
function topLevel(sql: string): Token[] {
  let depth = 0;
  return tokenize(sql).filter(({ text, kind }) => {
    if (kind === "punctuation" && text === "(") depth += 1;
    const isTop = depth === 0;
    if (kind === "punctuation" && text === ")") depth -= 1;
    return isTop;
  });
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === "word" && token.text.toUpperCase() === word;
}
