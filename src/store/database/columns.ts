/** Members of domain objects as columns of their tables. */
import type { Queries, SqlValue, StoredColumns } from "./database.ts";

/** Names in camelCase become snake_case, booleans 0 and 1, lists and objects JSON. Undefined members are left out. */
export function columnsOf(values: object): Record<string, SqlValue> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [columnName(name), columnValue(value)]));
}

/** Inserts a row with these members; `end` is the end of the statement. Returns the number of inserted rows. */
export async function insertRow(db: Queries, table: string, values: object, end = ""): Promise<number> {
  const columns = columnsOf(values);
  const names = Object.keys(columns);
  const places = names.map(() => "?").join(", ");
  return await db.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${places}) ${end}`,
    ...Object.values(columns),
  );
}

function columnName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function columnValue(value: unknown): SqlValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : (value as SqlValue);
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
/** Members that a column does not hold as they are: booleans, lists and objects. */
type Converted<T> = { [Member in keyof T]: T[Member] extends SqlValue ? never : Member }[keyof T];
type Reads<T> = { readonly [Member in Converted<T>]: (column: never) => T[Member] } & {
  readonly [Member in keyof T]?: (column: never) => T[Member];
};
/** `Given`, if it has the name of every member and no other one. */
type Exactly<T, Given extends string> = [keyof T, Words<Given>] extends [Words<Given>, keyof T] ? unknown : never;

/**
 * Returns a function that reads a row as a record, the inverse of `columnsOf`. It takes lines with the names of all
 * members, separated by spaces, and how to read those whose columns do not hold them as they are. Other columns of the
 * row are left out.
 */
export function recordReader<T extends object>() {
  return <Line extends string>(
    lines: readonly Line[] & Exactly<T, Line>,
    reads: Reads<T>,
  ): ((row: StoredColumns) => T) => {
    const given = reads as Readonly<Record<string, ((column: unknown) => unknown) | undefined>>;
    const members = lines
      .flatMap((line) => line.split(" "))
      .map((name) => ({ name, column: columnName(name), read: given[name] ?? asStored }));
    return (row) => {
      const record: Record<string, unknown> = {};
      for (const { name, column, read } of members) record[name] = read(row[column]);
      return record as T;
    };
  };
}

function asStored(column: unknown): unknown {
  return column;
}

/** Reads a column of 0 or 1. */
export function readFlag(column: number): boolean {
  return column === 1;
}

/** Reads a column of JSON that the store alone writes; null stays null. */
export function readPlainJson<T>(column: string | null): T {
  return JSON.parse(column ?? "null") as T;
}
