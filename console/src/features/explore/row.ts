/** Rows of a source, and their fields. */
import { cellText } from "../../lib/values.ts";

export type Row = Readonly<Record<string, unknown>>;
export type Column = { readonly name: string; readonly type: string };

/** Where the row stands, also after the rows were asked for again; -1 when it is gone. */
export function placeOf(all: readonly Row[], row: Row): number {
  const at = all.indexOf(row);
  const text = at === -1 ? JSON.stringify(row) : "";
  return at === -1 ? all.findIndex((one) => JSON.stringify(one) === text) : at;
}

/** The values of a row as text; members of maps and objects are fields of their own. */
export function fieldsOfRow(columns: readonly Column[], row: Row): { field: string; text: string }[] {
  return columns.flatMap(({ name }) => {
    const value = row[name];
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return [{ field: name, text: cellText(value) }];
    return Object.entries(value).map(([key, member]) => ({
      field: /^[\w.]+$/.test(key) ? `${name}.${key}` : `${name}['${key}']`,
      text: cellText(member),
    }));
  });
}
