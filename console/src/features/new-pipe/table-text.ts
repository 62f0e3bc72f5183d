/** The statement that creates the table, for reading: the server writes its own, with its settings. */
import { quotedName } from "../../lib/quoted-name.ts";
import type { Form } from "./form.ts";

export function createTableText({ database, table, columns, sortingKey }: Form): string {
  const kept = columns.filter(({ skip }) => skip !== true);
  const width = Math.max(0, ...kept.map(({ name }) => quotedName(name).length));
  const lines = kept.map(({ name, type }) => `    ${quotedName(name).padEnd(width)} ${type}`);
  const key = sortingKey.length === 0 ? "tuple()" : `(${sortingKey.map(quotedName).join(", ")})`;
  return `CREATE TABLE ${quotedName(database)}.${quotedName(table || "…")}\n(\n${lines.join(",\n")}\n)\nENGINE = MergeTree\nORDER BY ${key}`;
}
