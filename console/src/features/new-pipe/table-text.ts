/** The statement that creates the table, for reading: the server writes its own, with its settings. */
import type { Form } from "./form.ts";

export function createTableText({ database, table, columns, sortingKey }: Form): string {
  const kept = columns.filter(({ skip }) => skip !== true);
  const width = Math.max(0, ...kept.map(({ name }) => quoted(name).length));
  const lines = kept.map(({ name, type }) => `    ${quoted(name).padEnd(width)} ${type}`);
  const key = sortingKey.length === 0 ? "tuple()" : `(${sortingKey.map(quoted).join(", ")})`;
  return `CREATE TABLE ${quoted(database)}.${quoted(table || "…")}\n(\n${lines.join(",\n")}\n)\nENGINE = MergeTree\nORDER BY ${key}`;
}

function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}
