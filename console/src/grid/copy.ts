/** Rows of a result as text for the clipboard. */
import { cellText, type GridColumn, type GridRow, isNumeric, kindOf } from "../lib/values.ts";

export const copyFormats = ["TSV", "CSV", "JSON", "SQL"] as const;
export type CopyFormat = (typeof copyFormats)[number];

/** All given rows with the names of their columns. */
export function copyText(format: CopyFormat, columns: readonly GridColumn[], rows: readonly GridRow[]): string {
  switch (format) {
    case "TSV":
      return lines(columns, rows, "\t", tsvField);
    case "CSV":
      return lines(columns, rows, ",", csvField);
    case "JSON":
      return `[${rows.map((row) => jsonRow(columns, row)).join(",\n ")}]`;
    case "SQL":
      return `VALUES\n${rows.map((row) => `  (${row.map((value, at) => sqlLiteral(value, columns[at])).join(", ")})`).join(",\n")}`;
  }
}

type Write = (value: unknown) => string;

function lines(columns: readonly GridColumn[], rows: readonly GridRow[], separator: string, write: Write): string {
  const head = columns.map(({ name }) => write(name));
  return [head, ...rows.map((row) => row.map(write))].map((fields) => fields.join(separator)).join("\n");
}

function tsvField(value: unknown): string {
  return harmless(value).replaceAll(/[\t\r\n]+/g, " ");
}

function csvField(value: unknown): string {
  const text = harmless(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet takes text that begins with `=`, `+`, `-` or `@` for a formula. */
function harmless(value: unknown): string {
  if (value === null) return "";
  const text = cellText(value);
  return typeof value === "string" && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

/** Columns of the same name would hide each other in an object: the later ones get a number. */
function jsonRow(columns: readonly GridColumn[], row: GridRow): string {
  const seen = new Map<string, number>();
  const members = row.map((value, at) => {
    const name = columns[at]?.name ?? "";
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return `${JSON.stringify(before === 0 ? name : `${name}_${before + 1}`)}:${jsonValue(value, columns[at])}`;
  });
  return `{${members.join(",")}}`;
}

function jsonValue(value: unknown, column: GridColumn | undefined): string {
  const isWhole = column !== undefined && kindOf(column.type) === "integer" && /^-?\d+$/.test(String(value));
  return isWhole ? String(value) : JSON.stringify(value ?? null);
}

function sqlLiteral(value: unknown, column: GridColumn | undefined): string {
  if (value === null || value === undefined) return "NULL";
  const text = cellText(value);
  if (column !== undefined && isNumeric(kindOf(column.type)) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return text;
  return typeof value === "boolean" ? text : `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
