/** Which rows of a result are shown, and in which order. */
import { cellText, compareValues, type GridColumn, type GridRow, kindOf } from "../lib/values.ts";

export type GridSort = { readonly column: number; readonly descending: boolean };

/** Places of the shown rows: those with `text` in a cell, in upper or lower case. Equal rows keep their order. */
export function shownRows(
  columns: readonly GridColumn[],
  rows: readonly GridRow[],
  text: string,
  sort: GridSort | undefined,
): number[] {
  const wanted = text.trim().toLowerCase();
  const places: number[] = [];
  for (const [place, row] of rows.entries()) {
    if (wanted === "" || row.some((value) => cellText(value).toLowerCase().includes(wanted))) places.push(place);
  }
  const column = sort === undefined ? undefined : columns[sort.column];
  if (sort === undefined || column === undefined) return places;
  const kind = kindOf(column.type);
  const valueAt = (place: number) => rows[place]?.[sort.column];
  return places.sort((a, b) => compareValues(valueAt(a), valueAt(b), kind, sort.descending) || a - b);
}

const [charWidth, cellPadding, least, most, sampleRows] = [7.6, 26, 72, 420, 200];

/** Widths of the columns in pixels, from their names, types and first rows. */
export function columnWidths(columns: readonly GridColumn[], rows: readonly GridRow[]): number[] {
  const sample = rows.slice(0, sampleRows);
  return columns.map(({ name, type }, at) => {
    const longest = sample.reduce((length, row) => Math.max(length, shortLength(row[at])), 0);
    const characters = Math.max(longest, name.length + 3, Math.min(type.length, 22));
    return Math.round(Math.min(most, Math.max(least, characters * charWidth + cellPadding)));
  });
}

function shortLength(value: unknown): number {
  return typeof value === "string" ? value.length : cellText(value).length;
}
