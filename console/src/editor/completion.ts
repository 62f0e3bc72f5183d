/** Completion of statements: what fits at a place, from the engine's words and the service's tables. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { quotedName } from "../lib/quoted-name.ts";
import { singleWords } from "./dialect.ts";
import { documentation, plainDescription } from "./documentation.ts";
import { codeOf, statementAt } from "./lexer.ts";
import { type EngineWords, type Tables, tableName } from "./words.ts";

export type Known = { readonly words: EngineWords; readonly tables: Tables };

/** What the text before the cursor asks for. */
type Wanted = "format" | "setting" | "engine" | "type" | "table" | "newName" | "any";

/** Where the next word is a name that its writer makes up. */
const newName =
  /(?:\bas|\bcreate\s+(?:or\s+replace\s+)?(?:temporary\s+|materialized\s+)?(?:table|view|database|dictionary|function|user|role)(?:\s+if\s+not\s+exists)?|\b(?:add\s+column(?:\s+if\s+not\s+exists)?|rename\s+to))\s+$/i;

export function wantedAfter(before: string): Wanted {
  const code = codeOf(before).replace(/[\w.]*$/, "");
  if (/\bformat\s+$/i.test(code)) return "format";
  if (/\bsettings\s+(?:\w+\s*=\s*[^,]+,\s*)*$/i.test(code)) return "setting";
  if (/\bengine\s*=?\s*$/i.test(code)) return "engine";
  if (/(?:::|\{\s*\w+\s*:|\bcast\s*\([^()]*\bas)\s*$/i.test(code)) return "type";
  if (newName.test(code)) return "newName";
  return /\b(?:from|join|into|table|describe|desc|update|optimize|truncate|exists)\s+$/i.test(code) ? "table" : "any";
}

/** A source of completions that reads `known` at each call, so that new tables need no new editor. */
export function completeSql(known: () => Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\w.]*$/);
    const text = context.state.doc.toString();
    const before = text.slice(0, context.pos);
    const wanted = wantedAfter(before);
    if (word === null || (word.from === word.to && !context.explicit && wanted === "any")) return null;
    if (wanted === "newName" || isQuoted(text, context.pos)) return null;
    const dot = word.text.lastIndexOf(".");
    if (dot !== -1) {
      const options = members(known(), text, context.pos, word.text.slice(0, dot));
      return matching(options, word.from + dot + 1, word.text.slice(dot + 1));
    }
    return matching(optionsOf(wanted, known(), text, context.pos), word.from, word.text);
  };
}

const mostOffered = 100;

/** The options that begin with the word, then those of which a later part begins with it, in their order. */
function matching(options: readonly Completion[], from: number, word: string): CompletionResult | null {
  const wanted = word.toLowerCase();
  const begins = (text: string) => text.toLowerCase().startsWith(wanted);
  const parts = options.map((option) => option.label.replace(/^[`"]/, "").split(/(?<=[_.])|(?<=[a-z])(?=[A-Z])/));
  const first = options.filter((_, index) => begins((parts[index] ?? []).join("")));
  const later = options.filter((_, index) => !begins((parts[index] ?? []).join("")) && parts[index]?.some(begins));
  const found = [...first, ...later].slice(0, mostOffered);
  return found.length === 0 ? null : { from, options: found, filter: false };
}

/** True inside of quotes and comments. */
function isQuoted(text: string, position: number): boolean {
  const marked = `${text.slice(0, position)}\u0001${text.slice(position)}`;
  return !codeOf(marked).includes("\u0001");
}

function optionsOf(wanted: Wanted, { words, tables }: Known, text: string, position: number): readonly Completion[] {
  switch (wanted) {
    case "format":
      return words.formats.filter(({ output }) => output).map(({ name }) => ({ label: name, type: "constant" }));
    case "setting":
      return fixed(words).settings;
    case "engine":
      return words.tableEngines.map((label) => ({ label, type: "class" }));
    case "type":
      return words.dataTypes.map((label) => ({ label, type: "type" }));
    case "table":
      return [...tableOptions(tables), ...databaseOptions(tables), ...fixed(words).tableFunctions];
    case "any": {
      const names = [...columnOptions(tables, text, position), ...aliasOptions(text, position)];
      return [...names, ...tableOptions(tables), ...databaseOptions(tables), ...fixed(words).any];
    }
    case "newName":
      return [];
  }
}

type Fixed = { readonly any: Completion[]; readonly settings: Completion[]; readonly tableFunctions: Completion[] };
const made = new WeakMap<EngineWords, Fixed>();

/** The options of the engine's words, which are thousands, are made once. */
function fixed(words: EngineWords): Fixed {
  const before = made.get(words);
  if (before !== undefined) return before;
  const call = (one: { name: string; description: string; syntax?: string }, type: string): Completion => ({
    label: one.name,
    type,
    apply: `${one.name}(`,
    info: () => documentation(one.syntax || `${one.name}(…)`, one.description),
  });
  const keywords = singleWords(words.keywords).map((label): Completion => ({ label, type: "keyword" }));
  const functions = words.functions.map((one) => call(one, one.aggregate ? "aggregate" : "function"));
  const tableFunctions = words.tableFunctions.map((one) => call(one, "function"));
  const settings = words.settings.map(
    ({ name, type, default: standard, description }): Completion => ({
      label: name,
      type: "property",
      detail: type,
      apply: `${name} = `,
      info: () => documentation(`${name} ${type}, default ${standard || "empty"}`, description),
    }),
  );
  const result = { any: [...keywords, ...functions], settings, tableFunctions };
  made.set(words, result);
  return result;
}

function tableOptions(tables: Tables): Completion[] {
  return tables.map((table) => ({
    label: tableName(table),
    type: "class",
    detail: table.engine,
  }));
}

function databaseOptions(tables: Tables): Completion[] {
  const names = [...new Set(tables.map(({ database }) => database))];
  return names.map((name) => ({ label: quotedName(name), type: "namespace", detail: "database" }));
}

/** Columns of the tables that the statement names; of all tables while it names none. */
function columnOptions(tables: Tables, text: string, position: number): Completion[] {
  const named = tables.filter(isNamedIn(text, position));
  const found = new Map<string, Completion>();
  for (const { name: table, columns = [] } of named.length > 0 ? named : tables.slice(0, 200)) {
    for (const { name, type } of columns) {
      const label = quotedName(name);
      if (!found.has(label))
        found.set(label, { label, type: "property", detail: plainDescription(`${type}, ${table}`, 60) });
    }
  }
  return [...found.values()];
}

/** Names that the statement gives. */
function aliasOptions(text: string, position: number): Completion[] {
  const names = [...codeOf(statementText(text, position)).matchAll(/\bas\s+([A-Za-z_]\w*)/gi)].map(([, name]) => name);
  return [...new Set(names as string[])].map((label) => ({ label, type: "variable", detail: "of this statement" }));
}

function statementText(text: string, position: number): string {
  const span = statementAt(text, position);
  return text.slice(span?.from ?? 0, span?.to ?? text.length);
}

function isNamedIn(text: string, position: number): (table: Tables[number]) => boolean {
  const words = new Set(statementText(text, position).match(/[A-Za-z_]\w*/g) ?? []);
  return ({ name }) => words.has(name);
}

/** Behind a dot: tables of a database, or columns of a table or its alias. */
function members({ tables }: Known, text: string, position: number, path: string): Completion[] {
  const owner = path.split(".").at(-1) ?? "";
  const ofDatabase = tables.filter(({ database }) => database === owner);
  if (ofDatabase.length > 0) {
    return ofDatabase.map(({ name, engine }) => ({ label: quotedName(name), type: "class", detail: engine }));
  }
  const alias = new RegExp(`(?:from|join)\\s+(?:\\w+\\.)?(\\w+)\\s+(?:as\\s+)?${owner}\\b`, "i").exec(
    statementText(text, position),
  )?.[1];
  const table = tables.find(({ name }) => name === owner || name === alias);
  return (table?.columns ?? []).map(({ name, type }) => ({ label: quotedName(name), type: "property", detail: type }));
}
