/** Documentation of the word below the pointer. */
import type { EditorView, Tooltip } from "@codemirror/view";
import type { Known } from "./completion.ts";
import { documentation } from "./documentation.ts";

/** Head and text for a word: a function, table function, setting, table or column; undefined for others. */
export function explain(word: string, { words, tables }: Known): readonly [head: string, text: string] | undefined {
  const lower = word.toLowerCase();
  const called = words.functions.find(({ name }) => name === word || name.toLowerCase() === lower);
  if (called !== undefined) return [called.syntax || `${called.name}(…)`, called.description];
  const tableFunction = words.tableFunctions.find(({ name }) => name === word);
  if (tableFunction !== undefined) return [`${word}(…), table function`, tableFunction.description];
  const setting = words.settings.find(({ name }) => name === word);
  if (setting !== undefined)
    return [`${word} ${setting.type}, default ${setting.default || "empty"}`, setting.description];
  const table = tables.find(({ name }) => name === word);
  if (table !== undefined) {
    const columns = (table.columns ?? []).map(({ name, type }) => `${name} ${type}`);
    return [`${table.database}.${table.name}, ${table.engine}`, columns.join("\n")];
  }
  const owner = tables.find(({ columns = [] }) => columns.some(({ name }) => name === word));
  const column = owner?.columns?.find(({ name }) => name === word);
  return column === undefined ? undefined : [`${word} ${column.type}`, `Column of ${owner?.name}`];
}

/** What is shown for the word at a position of the text. */
export function documentationAt(view: EditorView, position: number, known: Known): Tooltip | null {
  const line = view.state.doc.lineAt(position);
  for (const { index, 0: word } of line.text.matchAll(/[A-Za-z_]\w*/g)) {
    const [from, to] = [line.from + index, line.from + index + word.length];
    if (position < from || position > to) continue;
    const found = explain(word, known);
    if (found === undefined) return null;
    return { pos: from, end: to, above: true, create: () => ({ dom: documentation(...found) }) };
  }
  return null;
}
