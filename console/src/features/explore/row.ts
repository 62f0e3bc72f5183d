/** Rows of a source, and their fields. */
import { cellText, kindOf, timeOf } from "../../lib/values.ts";
import { timeText } from "../../lib/zone.ts";

export type Row = Readonly<Record<string, unknown>>;
export type Column = { readonly name: string; readonly type: string };

/** Where the row stands, also after the rows were asked for again; -1 when it is gone. */
export function placeOf(all: readonly Row[], row: Row): number {
  const at = all.indexOf(row);
  const text = at === -1 ? JSON.stringify(row) : "";
  return at === -1 ? all.findIndex((one) => JSON.stringify(one) === text) : at;
}

/** `text` is the engine's, which filters compare; `shown` has times in the zone of the console. */
type Field = { readonly field: string; readonly text: string; readonly shown: string };

/** The values of a row; members of maps and objects are fields of their own. */
export function fieldsOfRow(columns: readonly Column[], row: Row): Field[] {
  return columns.flatMap(({ name, type }) => {
    const value = row[name];
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return [{ field: name, text: cellText(value), shown: shownText(value, type) }];
    return Object.entries(value).map(([key, member]) => {
      const text = cellText(member);
      return { field: /^[\w.]+$/.test(key) ? `${name}.${key}` : `${name}['${key}']`, text, shown: text };
    });
  });
}

/** The value as text, and a time in the zone of the console, to the millisecond where the row has them. */
export function shownText(value: unknown, type: string): string {
  const text = cellText(value);
  const time = kindOf(type) === "time" && text.includes(":") ? timeOf(value, type) : Number.NaN;
  return Number.isNaN(time) ? text : `${timeText(time)}${/\.\d{1,3}/.exec(text)?.[0] ?? ""}`;
}
