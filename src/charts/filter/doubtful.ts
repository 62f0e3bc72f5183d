/**
 * Filters that are valid and most likely not what the caller meant: SQL, operators in lower case, regular expressions.
 * What can hardly be a word is refused; the rest is a warning.
 */
import { splitColumn, type TableSchema } from "../columns/schema.ts";
import { FilterError, type FilterNode, literalText, type ValuePredicate } from "./syntax.ts";

export type Warn = (message: string, position: number) => void;
export type LowerCaseWord = { readonly text: string; readonly at: number };

const sqlHint =
  'this looks like SQL: set whereLanguage to "sql", write field:value, or quote it to search for the text';

/** A word by itself, as it was typed. Throws FilterError. */
export function checkWord(
  typed: string,
  word: { readonly start: number; readonly escaped: boolean },
  hasField: boolean,
  warn: Warn,
): void {
  if (!hasField && !word.escaped && /^(=|==|!=|<>|<=|>=|<|>|!)$/.test(typed))
    throw new FilterError(sqlHint, word.start);
  const inner = /^\/(.+)\/[a-z]{0,3}$/s.exec(typed)?.[1];
  if (inner === undefined) return;
  if (/\.[*+?]|\\[a-zA-Z]|[|^$+]/.test(inner)) {
    const instead = "use match(column, 'pattern') with whereLanguage \"sql\", or wildcards";
    throw new FilterError(`regular expressions are not supported; ${instead}`, word.start);
  }
  warn("the slashes are searched for; regular expressions are not supported", word.start);
}

/**
 * `and` and `or` in lower case between two conditions: beside a test of a field they can only be operators. Throws
 * FilterError.
 */
export function checkLowerCase(
  items: readonly FilterNode[],
  words: ReadonlyMap<FilterNode, LowerCaseWord>,
  warn: Warn,
): void {
  for (const [i, item] of items.entries()) {
    const word = words.get(item);
    const [before, after] = [items[i - 1], items[i + 1]];
    if (word === undefined || before === undefined || after === undefined) continue;
    const operator = word.text.toUpperCase();
    const message = `${word.text} is searched for as a word; write ${operator} to combine conditions, or quote it`;
    if (testsField(before) || testsField(after)) throw new FilterError(message, word.at);
    warn(message, word.at);
  }
}

function testsField(node: FilterNode): boolean {
  if (node.kind === "match") return node.field !== undefined;
  if (node.kind === "not") return testsField(node.item);
  return node.kind !== "all" && node.items.some(testsField);
}

/** A column's name followed by an operator of SQL: `n IN (1, 2)`, `level LIKE x`. Throws FilterError. */
export function refuseSql(items: readonly FilterNode[], schema: TableSchema): void {
  for (const [i, item] of items.entries()) {
    const [name, operator] = [wordOf(item), wordOf(items[i + 1])];
    if (name === undefined || operator === undefined || !isColumn(name.text, schema)) continue;
    if (/^(in|like|ilike|is|between)$/i.test(operator.text)) throw new FilterError(sqlHint, name.at);
  }
}

/** `level='error'` and `n>5` in one word. Throws FilterError. */
export function checkBareWord(test: ValuePredicate, schema: TableSchema, warn: Warn = () => {}): void {
  const text = test.kind === "word" ? literalText(test.parts) : undefined;
  const [, name, operator, value] = /^([^=<>!]+)(==?|!=|<>|<=|>=|<|>)(.*)$/s.exec(text ?? "") ?? [];
  if (name === undefined || !isColumn(name, schema)) return;
  if (operator !== "=" || value?.startsWith("'")) throw new FilterError(sqlHint, test.at);
  warn(`${text?.slice(0, 100)} is searched for as text; to test the column, write ${name}:${value}`, test.at);
}

function wordOf(node: FilterNode | undefined): { readonly text: string; readonly at: number } | undefined {
  if (node?.kind !== "match" || node.field !== undefined || node.test.kind !== "word") return undefined;
  const text = literalText(node.test.parts);
  return text === undefined ? undefined : { text, at: node.test.at };
}

function isColumn(name: string, schema: TableSchema): boolean {
  return splitColumn(schema, name) !== undefined;
}
