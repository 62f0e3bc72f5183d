/** Members of domain objects as columns of their tables. */
import type { SqlValue } from "./database.ts";

/** Names in camelCase become snake_case, booleans 0 and 1, lists and objects JSON. Undefined members are left out. */
export function columnsOf(values: object): Record<string, SqlValue> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [columnName(name), columnValue(value)]));
}

function columnName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function columnValue(value: unknown): SqlValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : (value as SqlValue);
}
